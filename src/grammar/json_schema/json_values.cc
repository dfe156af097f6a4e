#include "grammar/json_schema/json_values.h"

#include <map>

#include "grammar/json_schema/decimal.h"

namespace millrace::grammar::json_schema {

Types type_of(const Json& value) {
  if (value.is_null()) return kNull;
  if (value.is_boolean()) return value.get<bool>() ? kTrue : kFalse;
  if (value.is_string()) return kString;
  if (value.is_array()) return kArray;
  if (value.is_object()) return kObject;
  return Decimal::of(value).fraction.empty() ? kInteger : kFraction;
}

std::string canonical(const Json& value) {
  if (value.is_number()) return Decimal::of(value).text();
  if (value.is_array()) {
    std::string text = "[";
    for (const Json& item : value) text += canonical(item) + ",";
    return text + "]";
  }
  if (!value.is_object()) return value.dump();
  std::map<std::string, std::string> sorted;
  for (const auto& [name, member] : value.items()) sorted[name] = canonical(member);
  std::string text = "{";
  for (const auto& [name, member] : sorted) text += Json(name).dump() + ":" + member + ",";
  return text + "}";
}

ValueSet::ValueSet(const std::vector<const Json*>& values) {
  for (const Json* value : values) texts_.insert(canonical(*value));
}

}  // namespace millrace::grammar::json_schema
