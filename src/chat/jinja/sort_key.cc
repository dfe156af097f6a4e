#include "chat/jinja/sort_key.h"

#include <algorithm>

#include "chat/jinja/compare.h"
#include "chat/jinja/merge_sort.h"
#include "chat/jinja/text_ops.h"

namespace millrace::chat::jinja {

Value SortKey::original(const Value& item) const { return get_path(runtime_, item, path_, fallback_); }

Value SortKey::operator()(const Value& item) const {
  Value value = original(item);
  if (case_sensitive_ || !value.text()) return value;
  return change_case(runtime_.budget, *value.text(), Case::kLower);
}

std::vector<Value> sorted(Runtime& runtime, std::vector<KeyedItem> items, bool reverse) {
  merge_sort(items, [&](const KeyedItem& a, const KeyedItem& b) {
    return reverse ? less(runtime.budget, b.key, a.key) : less(runtime.budget, a.key, b.key);
  });
  std::vector<Value> out;
  out.reserve(items.size());
  for (KeyedItem& keyed : items) out.push_back(std::move(keyed.item));
  return out;
}

}  // namespace millrace::chat::jinja
