#include "chat/jinja/builtins.h"

#include <algorithm>

namespace millrace::chat::jinja {

const Filter* find_filter(std::string_view name) {
  for (const auto table :
       {text_filters(), number_filters(), sequence_filters(), selection_filters(), conversion_filters()}) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Filter& f) { return f.name == name; });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

std::optional<Value> find_method(const Value& object, std::string_view name) {
  std::span<const Method> tables[2];
  if (object.text()) {
    tables[0] = text_methods();
    tables[1] = text_predicates();
  } else if (object.dict()) {
    tables[0] = dict_methods();
  } else if (object.list() && !object.list()->is_view()) {
    tables[0] = list_methods();
  } else if (object.as_integer()) {
    tables[0] = integer_methods();
  } else if (object.real()) {
    tables[0] = real_methods();
  }
  for (const auto table : tables) {
    for (const Method& method : table) {
      if (method.name != name) continue;
      return std::make_shared<const BoundMethod>(BoundMethod{method.name, object, method.call});
    }
  }
  return std::nullopt;
}

}  // namespace millrace::chat::jinja
