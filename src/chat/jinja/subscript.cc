#include <algorithm>

#include "chat/jinja/arguments.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/runtime.h"
#include "chat/jinja/text_ops.h"

namespace millrace::chat::jinja {
namespace {

constexpr std::string_view kMutating[] = {"append",  "clear",      "extend", "insert",  "pop",   "remove",
                                          "reverse", "setdefault", "sort",   "popitem", "update"};

bool is_mutating(const Value& object, std::string_view name) {
  const bool mutable_type = object.dict() || (object.list() && object.list()->kind == ListKind::kList);
  return mutable_type && std::find(std::begin(kMutating), std::end(kMutating), name) != std::end(kMutating);
}

std::optional<Value> own_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (Object* o = object.object()) return o->attribute(runtime, name);
  if (object.list() && object.list()->kind == ListKind::kGroup) {
    if (name == "grouper") return object.list()->items[0];
    if (name == "list") return object.list()->items[1];
  }
  return find_method(object, name);
}

std::optional<Value> item_at(Runtime& runtime, const Value& object, Integer index) {
  const Text* text = object.text();
  const List* list = object.list();
  if (!text && (!list || list->is_view())) return std::nullopt;
  const Integer size = static_cast<Integer>(text ? text->length() : list->items.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  const auto at = static_cast<std::int64_t>(index);
  if (text) return slice(runtime.budget, *text, at, at + 1, 1);
  return list->items[static_cast<std::size_t>(at)];
}

std::optional<Value> own_item(Runtime& runtime, const Value& object, const Value& key) {
  if (const Dict* dict = object.dict()) {
    const Value* found = dict->find(key);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (const auto index = key.as_integer()) return item_at(runtime, object, *index);
  return std::nullopt;
}

std::string shown_key(Runtime& runtime, const Value& key) { return std::string(to_repr(runtime, key).view()); }

// Start and stop as Python's slice.indices(size) gives them.
struct SliceBounds {
  std::int64_t start, stop, step;
};

SliceBounds slice_bounds(const Value& start, const Value& stop, const Value& step, std::int64_t size) {
  const auto given = [](const Value& v) -> std::optional<std::int64_t> {
    if (v.is_none()) return std::nullopt;
    const auto i = v.as_integer();
    if (!i) fail("slice indices must be integers or None, not {}", v.type_name());
    return clamp_integer(*i);
  };
  const std::int64_t by = given(step).value_or(1);
  if (by == 0) fail("slice step cannot be zero");
  const std::int64_t low = by < 0 ? -1 : 0, high = by < 0 ? size - 1 : size;
  const auto clamp = [&](std::int64_t i) { return std::clamp(i < 0 ? i + size : i, low, high); };
  const auto from = given(start), to = given(stop);
  return {from ? clamp(*from) : (by < 0 ? high : low), to ? clamp(*to) : (by < 0 ? low : high), by};
}

}  // namespace

Value get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is_undefined()) fail("{}", object.undefined_reason());
  if (auto value = own_attribute(runtime, object, name)) return *std::move(value);
  if (const Dict* dict = object.dict(); dict && !is_mutating(object, name)) {
    if (const Value* value = dict->find(name)) return *value;
  }
  if (is_mutating(object, name)) {
    return Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe", name, object.type_name()));
  }
  return Value::undefined(fmt::format("'{}' object has no attribute '{}'", object.type_name(), name));
}

Value get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_undefined()) fail("{}", object.undefined_reason());
  if (auto value = own_item(runtime, object, key)) return *std::move(value);
  if (const Text* name = key.text()) {
    if (auto value = own_attribute(runtime, object, name->view())) return *std::move(value);
  }
  return Value::undefined(fmt::format("'{}' object has no item {}", object.type_name(), shown_key(runtime, key)));
}

Value get_path(Runtime& runtime, Value object, const Value& path, const Value& fallback) {
  runtime.budget.step();
  const auto step_to = [&](const Value& key) {
    object = get_item(runtime, object, key);
    if (object.is_undefined() && !fallback.is_none()) object = fallback;
  };
  const Text* text = path.text();
  if (!text) {
    if (!path.is_none()) step_to(path);
    return object;
  }
  runtime.budget.scan(text->size());
  const std::string_view view = text->view();
  for (std::size_t start = 0; start <= view.size();) {
    const std::size_t end = std::min(view.find('.', start), view.size());
    const std::string_view part = view.substr(start, end - start);
    const bool number = !part.empty() && part.size() < 10 &&
                        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    runtime.budget.step();
    step_to(number ? Value(std::stoi(std::string(part))) : Value(Text(std::string(part), false)));
    start = end + 1;
  }
  return object;
}

Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is_undefined()) fail("{}", object.undefined_reason());
  if (const Text* text = object.text()) {
    const auto [from, to, by] = slice_bounds(start, stop, step, static_cast<std::int64_t>(text->length()));
    return slice(runtime.budget, *text, from, to, by);
  }
  const List* list = object.list();
  if (!list || list->is_view())
    return Value::undefined(fmt::format("'{}' object cannot be sliced", object.type_name()));
  const auto [from, to, by] = slice_bounds(start, stop, step, static_cast<std::int64_t>(list->items.size()));
  std::vector<Value> items;
  for (std::int64_t i = from; by > 0 ? i < to : i > to; i += by) {
    items.push_back(list->items[static_cast<std::size_t>(i)]);
    if (by > 0 ? by > to - i : by < to - i) break;
  }
  if (list->kind != ListKind::kRange) {
    return make_list(runtime.budget, std::move(items), list->is_tuple() ? ListKind::kTuple : ListKind::kList);
  }
  auto range = std::make_shared<List>(*make_list(runtime.budget, std::move(items), ListKind::kRange).list());
  range->range_start = list->range_start + from * list->range_step;
  range->range_stop = list->range_start + to * list->range_step;
  range->range_step =
      Integer(by) * list->range_step == clamp_integer(Integer(by) * list->range_step) ? by * list->range_step : by;
  return std::shared_ptr<const List>(std::move(range));
}

Sequence iterate(Runtime& runtime, const Value& value) {
  if (value.list()) {
    runtime.budget.step(static_cast<std::int64_t>(value.list()->items.size() / 16));
    return value.shared_list();
  }
  if (auto* iterator = dynamic_cast<Iterator*>(value.object())) {
    auto items = iterator->drain();
    runtime.budget.step(static_cast<std::int64_t>(items->items.size()));
    return items;
  }
  std::vector<Value> items;
  if (const Text* text = value.text()) {
    items = characters(runtime.budget, *text);
  } else if (const Dict* dict = value.dict()) {
    for (const Dict::Entry& entry : dict->entries()) items.push_back(entry.key);
  } else if (!value.is_undefined()) {
    fail("'{}' object is not iterable", value.type_name());
  }
  return make_list(runtime.budget, std::move(items)).shared_list();
}

Value call_value(Runtime& runtime, const Value& callee, Arguments& arguments) {
  runtime.budget.step(1 + static_cast<std::int64_t>(arguments.positional.size() + arguments.named.size()));
  if (const Builtin* builtin = callee.builtin()) return builtin->call(runtime, arguments);
  if (const BoundMethod* method = callee.method()) return method->call(runtime, method->self, arguments);
  if (Object* object = callee.object()) return object->call(runtime, arguments);
  if (callee.is_undefined()) fail("{}", callee.undefined_reason());
  fail("'{}' object is not callable", callee.type_name());
}

}  // namespace millrace::chat::jinja
