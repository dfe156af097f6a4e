#include "chat/jinja/arguments.h"
#include "chat/jinja/builtins.h"

namespace millrace::chat::jinja {
namespace {

Value take_first(Arguments& arguments, std::string_view what) {
  if (arguments.positional.empty()) fail("{}", what);
  Value value = std::move(arguments.positional.front());
  arguments.positional.erase(arguments.positional.begin());
  return value;
}

std::string_view name_of(const Value& value, std::string_view what) {
  if (!value.text()) fail("the name of a {} must be a string, not '{}'", what, value.type_name());
  return value.text()->view();
}

// map('filter', ...) or map(attribute=path, default=value).
Value map(Runtime& runtime, const Value& input, Arguments& arguments) {
  std::vector<Value> out;
  if (arguments.positional.empty()) {
    const BoundArguments args("map", arguments, {"attribute", "default"}, 1);
    const Value fallback = args.value(1, None{});
    const Sequence items = input.truthy() ? iterate(runtime, input) : std::make_shared<const List>();
    for (const Value& item : items) {
      out.push_back(get_path(runtime, item, args[0], fallback));
    }
    return runtime.make_iterator(std::move(out));
  }
  const Value name = take_first(arguments, "map requires a filter argument");
  const Filter* filter = find_filter(name_of(name, "filter"));
  if (!filter) fail("the filter '{}' is not supported", name.text()->view());
  if (input.truthy()) {
    for (const Value& item : iterate(runtime, input)) {
      runtime.budget.step();
      Arguments copy = arguments;
      out.push_back(filter->apply(runtime, item, copy));
    }
  }
  return runtime.make_iterator(std::move(out));
}

Value filter_items(Runtime& runtime, const Value& input, Arguments& arguments, bool by_attribute, bool keep) {
  const Value path = by_attribute ? take_first(arguments, "Missing parameter for attribute name") : Value(None{});
  const Test* test = nullptr;
  if (!arguments.positional.empty()) {
    const Value name = take_first(arguments, "");
    test = find_test(name_of(name, "test"));
    if (!test) fail("the test '{}' is not supported", name.text()->view());
  }
  std::vector<Value> out;
  if (input.truthy()) {
    for (const Value& item : iterate(runtime, input)) {
      runtime.budget.step();
      const Value subject = by_attribute ? get_path(runtime, item, path) : item;
      Arguments copy = arguments;
      const bool passes = test ? test->check(runtime, subject, copy) : subject.truthy();
      if (passes == keep) out.push_back(item);
    }
  }
  return runtime.make_iterator(std::move(out));
}

template <bool by_attribute, bool keep>
Value selection(Runtime& runtime, const Value& input, Arguments& arguments) {
  return filter_items(runtime, input, arguments, by_attribute, keep);
}

}  // namespace

std::span<const Filter> selection_filters() {
  static constexpr Filter kTable[] = {
      {"map", map},
      {"reject", selection<false, false>},
      {"rejectattr", selection<true, false>},
      {"select", selection<false, true>},
      {"selectattr", selection<true, true>},
  };
  return kTable;
}

}  // namespace millrace::chat::jinja
