#include "text/json_node.h"

namespace millrace::text {

JsonNode JsonNode::operator[](std::string_view key) const {
  std::string path = path_ + (path_.empty() ? "" : ".") + std::string(key);
  simdjson::dom::element found;
  if (object()[key].get(found) != simdjson::SUCCESS) return JsonNode(std::move(path));
  return JsonNode(found, std::move(path));
}

std::string_view JsonNode::string() const {
  std::string_view out;
  if (!present_ || element_.get(out) != simdjson::SUCCESS) wrong("a string");
  return out;
}

bool JsonNode::boolean_or(bool absent) const {
  if (is_null()) return absent;
  bool out = false;
  if (element_.get(out) != simdjson::SUCCESS) wrong("true or false");
  return out;
}

std::int64_t JsonNode::integer() const {
  std::int64_t out = 0;
  if (!present_ || element_.get(out) != simdjson::SUCCESS) wrong("an integer");
  return out;
}

std::vector<JsonNode> JsonNode::items() const {
  std::vector<JsonNode> out;
  if (is_null()) return out;
  for (const simdjson::dom::element item : array()) {
    out.emplace_back(item, path_ + "[" + std::to_string(out.size()) + "]");
  }
  return out;
}

double JsonNode::number() const {
  double out = 0;
  if (!present_ || element_.get(out) != simdjson::SUCCESS) wrong("a number");
  return out;
}

simdjson::dom::object JsonNode::object() const {
  simdjson::dom::object out;
  if (!present_ || element_.get(out) != simdjson::SUCCESS) wrong("an object");
  return out;
}

simdjson::dom::array JsonNode::array() const {
  simdjson::dom::array out;
  if (!present_ || element_.get(out) != simdjson::SUCCESS) wrong("an array");
  return out;
}

void JsonNode::unsupported(std::string_view found, std::string_view expected) const {
  throw_load_error(ErrorCode::kUnsupported, path_, "{} is \"{}\"; this build knows {}", path_, found, expected);
}

void JsonNode::wrong(std::string_view expected) const {
  throw_load_error(ErrorCode::kBadFile, path_, "{} must be {}{}", path_, expected, present_ ? "" : "; it is missing");
}

}  // namespace millrace::text
