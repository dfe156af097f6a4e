#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// What sort, min, groupby and their like compare items by: the item or a path into it, strings in lower case unless
// told otherwise.
class SortKey {
 public:
  SortKey(Runtime& runtime, Value path, bool case_sensitive, Value fallback = None{})
      : runtime_(runtime), path_(std::move(path)), fallback_(std::move(fallback)), case_sensitive_(case_sensitive) {}
  Value operator()(const Value& item) const;
  // The same without lower-casing.
  Value original(const Value& item) const;

 private:
  Runtime& runtime_;
  Value path_, fallback_;
  bool case_sensitive_;
};

struct KeyedItem {
  Value key, item;
};
// Stable; fails where Python cannot order the keys.
std::vector<Value> sorted(Runtime& runtime, std::vector<KeyedItem> items, bool reverse);

}  // namespace millrace::chat::jinja
