#include "chat/jinja/arguments.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/compare.h"

namespace millrace::chat::jinja {
namespace {

Value get(Runtime&, const Value& self, Arguments& arguments) {
  const BoundArguments args("get", arguments, {"key", "default"}, 1);
  if (args[0].dict() || (args[0].list() && !args[0].list()->is_tuple()))
    fail("unhashable type: '{}'", args[0].type_name());
  const Value* found = self.dict()->find(args[0]);
  return found ? *found : args.value(1, None{});
}

template <ListKind kind>
Value view(Runtime& runtime, const Value& self, Arguments& arguments) {
  expect_no_arguments("view", arguments);
  std::vector<Value> items;
  for (const Dict::Entry& entry : self.dict()->entries()) {
    if (kind == ListKind::kItems) {
      items.push_back(make_list(runtime.budget, {entry.key, entry.value}, ListKind::kTuple));
    } else {
      items.push_back(kind == ListKind::kKeys ? entry.key : entry.value);
    }
  }
  return make_list(runtime.budget, std::move(items), kind);
}

Value copy(Runtime&, const Value& self, Arguments& arguments) {
  expect_no_arguments("copy", arguments);
  return self;
}

Value copy_list(Runtime&, const Value& self, Arguments& arguments) {
  expect_no_arguments("copy", arguments);
  if (self.list()->kind != ListKind::kList) fail("'{}' object has no attribute 'copy'", self.type_name());
  return self;
}

Value index(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("index", arguments, {"value"}, 1);
  const auto& items = self.list()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equals(runtime.budget, items[i], args[0])) return i;
  }
  fail("the value is not in the list");
}

Value count(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments args("count", arguments, {"value"}, 1);
  std::int64_t found = 0;
  for (const Value& item : self.list()->items) found += equals(runtime.budget, item, args[0]);
  return found;
}

constexpr Method kDictMethods[] = {
    {"copy", copy},
    {"get", get},
    {"items", view<ListKind::kItems>},
    {"keys", view<ListKind::kKeys>},
    {"values", view<ListKind::kValues>},
};
constexpr Method kListMethods[] = {{"copy", copy_list}, {"count", count}, {"index", index}};

}  // namespace

std::span<const Method> dict_methods() { return kDictMethods; }
std::span<const Method> list_methods() { return kListMethods; }

}  // namespace millrace::chat::jinja
