#include "server/schema.h"

namespace millrace::server {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

}  // namespace

bool is_one_of(const Json& value, const std::vector<Json>& values) {
  return std::ranges::any_of(values, [&](const Json& one) {
    if (one.type() != value.type() || one.size() != value.size()) return false;
    return nlohmann::json(one) == nlohmann::json(value);  // whose keys are in order
  });
}

bool has_shape(const Json& value, const Json& shape) {
  if (shape.contains("type") && !has_type(value, shape["type"])) return false;
  if (shape.contains("enum") && std::ranges::find(shape["enum"], value) == shape["enum"].end()) return false;
  return !shape.contains("maxLength") ||
         characters(value.get_ref<const std::string&>()) <= shape["maxLength"].get<std::size_t>();
}

}  // namespace millrace::server
