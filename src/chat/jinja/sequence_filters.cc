#include <algorithm>

#include "chat/jinja/arguments.h"
#include "chat/jinja/arithmetic.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/compare.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/sort_key.h"
#include "chat/jinja/text_ops.h"

namespace millrace::chat::jinja {
namespace {

Value length(Runtime&, const Value& input, Arguments& arguments) {
  expect_no_arguments("length", arguments);
  if (const Text* text = input.text()) return text->length();
  if (const List* list = input.list()) return list->items.size();
  if (const Dict* dict = input.dict()) return dict->entries().size();
  if (input.is_undefined()) return 0;
  fail("object of type '{}' has no len()", input.type_name());
}

Value first(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("first", arguments);
  if (auto* iterator = dynamic_cast<Iterator*>(input.object())) {
    return iterator->next().value_or(Value::undefined("No first item, sequence was empty."));
  }
  if (const Text* text = input.text(); text && !text->empty()) return slice(runtime.budget, *text, 0, 1, 1);
  const auto items = iterate(runtime, input);
  return items->items.empty() ? Value::undefined("No first item, sequence was empty.") : items->items.front();
}

Value last(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("last", arguments);
  if (input.object()) fail("'{}' object is not reversible", input.type_name());
  const auto items = iterate(runtime, input);
  return items->items.empty() ? Value::undefined("No last item, sequence was empty.") : items->items.back();
}

Value join_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("join", arguments, {"d", "attribute"});
  std::vector<Text> parts;
  for (const Value& item : iterate(runtime, input)) {
    parts.push_back(to_text(runtime, args.has_value(1) ? get_path(runtime, item, args[1]) : item));
  }
  return join(runtime.budget, args.has(0) ? to_text(runtime, args[0]) : Text(), parts);
}

Value reverse(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("reverse", arguments);
  if (const Text* text = input.text())
    return slice(runtime.budget, *text, static_cast<std::int64_t>(text->length()) - 1, -1, -1);
  std::vector<Value> items = iterate(runtime, input)->items;
  std::reverse(items.begin(), items.end());
  return input.object() ? make_list(runtime.budget, std::move(items)) : runtime.make_iterator(std::move(items));
}

Value list_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  expect_no_arguments("list", arguments);
  return make_list(runtime.budget, iterate(runtime, input)->items);
}

Value sort(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<SortKey> keys;
  if (args.has_value(2) && args[2].text()) {
    for (const Value& path : split(runtime.budget, args.text(2), std::make_unique<Text>(",", true).get(), -1, false)) {
      keys.emplace_back(runtime, path, args.truth(1, false));
    }
  } else {
    keys.emplace_back(runtime, args.value(2, None{}), args.truth(1, false));
  }
  std::vector<KeyedItem> items;
  for (const Value& item : iterate(runtime, input)) {
    std::vector<Value> parts;
    for (const SortKey& key : keys) parts.push_back(key(item));
    items.push_back({keys.size() == 1 ? parts[0] : make_list(runtime.budget, std::move(parts)), item});
  }
  return make_list(runtime.budget, sorted(runtime, std::move(items), args.truth(0, false)));
}

Value dict_sort(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by(args.has(1) ? args.text(1).view() : "key");
  if (by != "key" && by != "value") fail("dictsort: you can only sort by either \"key\" or \"value\"");
  if (!input.dict()) fail("dictsort needs a dict, not '{}'", input.type_name());
  const SortKey key(runtime, by == "key" ? 0 : 1, args.truth(0, false));
  std::vector<KeyedItem> items;
  for (const Dict::Entry& entry : input.dict()->entries()) {
    Value pair = make_list(runtime.budget, {entry.key, entry.value}, ListKind::kTuple);
    items.push_back({key(pair), pair});
  }
  return make_list(runtime.budget, sorted(runtime, std::move(items), args.truth(2, false)));
}

Value extreme(Runtime& runtime, const Value& input, Arguments& arguments, bool largest) {
  const BoundArguments args(largest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const auto items = iterate(runtime, input);
  if (items->items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const SortKey key(runtime, args.value(1, None{}), args.truth(0, false));
  const Value* best = &items->items[0];
  Value best_key = key(*best);
  for (std::size_t i = 1; i < items->items.size(); ++i) {
    Value candidate = key(items->items[i]);
    const bool better =
        largest ? less(runtime.budget, best_key, candidate, ">") : less(runtime.budget, candidate, best_key);
    if (!better) continue;
    best = &items->items[i];
    best_key = std::move(candidate);
  }
  return *best;
}

Value min_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  return extreme(runtime, input, arguments, false);
}
Value max_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  return extreme(runtime, input, arguments, true);
}

Value sum(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("sum", arguments, {"attribute", "start"});
  Value total = args.value(1, 0);
  if (total.text()) fail("sum() can't sum strings");
  for (const Value& item : iterate(runtime, input)) {
    total = apply(runtime, Operator::kAdd, total, args.has_value(0) ? get_path(runtime, item, args[0]) : item);
  }
  return total;
}

Value unique(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("unique", arguments, {"case_sensitive", "attribute"});
  const SortKey key_of(runtime, args.value(1, None{}), args.truth(0, false));
  Dict seen;
  std::vector<Value> others, out;  // keys that a Dict cannot hold are compared one by one
  for (const Value& item : iterate(runtime, input)) {
    Value key = key_of(item);
    if (key.dict() || (key.list() && key.list()->kind == ListKind::kList))
      fail("unhashable type: '{}'", key.type_name());
    if (Dict::is_hashable(key)) {
      if (seen.find(key)) continue;
      seen.insert(runtime.budget, std::move(key), true);
    } else {
      const auto same = [&](const Value& other) { return equals(runtime.budget, other, key); };
      if (std::any_of(others.begin(), others.end(), same)) continue;
      others.push_back(std::move(key));
    }
    out.push_back(item);
  }
  return runtime.make_iterator(std::move(out));
}

Value batch(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("batch", arguments, {"linecount", "fill_with"}, 1);
  const std::int64_t size = args.integer(0, 0);
  std::vector<Value> rows, row;
  const auto flush = [&] { rows.push_back(make_list(runtime.budget, std::exchange(row, {}))); };
  for (const Value& item : iterate(runtime, input)) {
    if (static_cast<std::int64_t>(row.size()) == size) flush();
    row.push_back(item);
  }
  while (!row.empty() && args.has_value(1) && static_cast<std::int64_t>(row.size()) < size) {
    runtime.budget.step();
    row.push_back(args[1]);
  }
  if (!row.empty()) flush();
  return runtime.make_iterator(std::move(rows));
}

Value slice_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("slice", arguments, {"slices", "fill_with"}, 1);
  const auto items = iterate(runtime, input);
  const std::int64_t slices = args.integer(0, 0);
  if (slices == 0) fail("integer division or modulo by zero");
  const auto count = static_cast<std::int64_t>(items->items.size());
  std::vector<Value> columns;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < slices; ++i) {
    runtime.budget.step();
    const bool extra = i < count % slices;
    const std::int64_t end = start + count / slices + (extra ? 1 : 0);
    std::vector<Value> column(items->items.begin() + start, items->items.begin() + end);
    if (args.has_value(1) && !extra) column.push_back(args[1]);
    columns.push_back(make_list(runtime.budget, std::move(column)));
    start = end;
  }
  return runtime.make_iterator(std::move(columns));
}

Value group_by(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const SortKey key_of(runtime, args[0], args.truth(2, false), args.value(1, None{}));
  std::vector<KeyedItem> keyed;
  for (const Value& item : iterate(runtime, input)) keyed.push_back({key_of(item), item});
  std::vector<Value> groups, group;
  const auto flush = [&] {
    Value grouper = key_of.original(group.front());
    groups.push_back(
        make_list(runtime.budget, {grouper, make_list(runtime.budget, std::exchange(group, {}))}, ListKind::kGroup));
  };
  for (Value& item : sorted(runtime, std::move(keyed), false)) {
    if (!group.empty() && !equals(runtime.budget, key_of(group.front()), key_of(item))) flush();
    group.push_back(std::move(item));
  }
  if (!group.empty()) flush();
  return make_list(runtime.budget, std::move(groups));
}

}  // namespace

std::span<const Filter> sequence_filters() {
  static constexpr Filter kTable[] = {
      {"batch", batch},        {"count", length},     {"dictsort", dict_sort},
      {"first", first},        {"groupby", group_by}, {"join", join_filter},
      {"last", last},          {"length", length},    {"list", list_filter},
      {"max", max_filter},     {"min", min_filter},   {"reverse", reverse},
      {"slice", slice_filter}, {"sort", sort},        {"sum", sum},
      {"unique", unique},
  };
  return kTable;
}

}  // namespace millrace::chat::jinja
