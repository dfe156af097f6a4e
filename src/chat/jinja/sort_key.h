#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// The key by which sort, min, groupby and similar filters compare items: the item, or the value at a path in it.
// Strings are compared in lower case unless case_sensitive.
class SortKey {
 public:
  SortKey(Runtime& runtime, Value path, bool case_sensitive, Value fallback = None{})
      : runtime_(runtime), path_(std::move(path)), fallback_(std::move(fallback)), case_sensitive_(case_sensitive) {}
  Value operator()(const Value& item) const;
  // The key without lower-casing.
  Value original(const Value& item) const;

 private:
  Runtime& runtime_;
  Value path_, fallback_;
  bool case_sensitive_;
};

struct KeyedItem {
  Value key, item;
};
// Sorts stably by key. Fails where Python cannot order the keys.
std::vector<Value> sorted(Runtime& runtime, std::vector<KeyedItem> items, bool reverse);

}  // namespace millrace::chat::jinja
