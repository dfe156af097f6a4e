#include "text/containers/json_node.h"

#include <simdjson.h>

#include <bit>

#include "unicode/code_points.h"

namespace millrace::text {

namespace {

// A step of a JSON pointer: "~" and "/" are escaped.
std::string step(std::string_view key) {
  std::string out = "/";
  for (const char c : key) {
    if (c == '~' || c == '/') {
      out += c == '~' ? "~0" : "~1";
    } else {
      out += c;
    }
  }
  return out;
}

// What a reader of an error needs to find the value again.
std::string shown(simdjson::dom::element element) {
  constexpr std::size_t kMax = 60;
  if (element.is_object()) return "an object";
  if (element.is_array()) return "a list";
  std::string text = simdjson::minify(element);
  if (text.size() > kMax) text = text.substr(0, unicode::previous_start(text, kMax)) + "...";
  return text;
}

}  // namespace

JsonNode::JsonNode(simdjson::dom::element element, std::string_view file) : file_(file) { set(element); }

void JsonNode::set(simdjson::dom::element element) noexcept {
  element_ = std::bit_cast<decltype(element_)>(element);
  present_ = true;
}

simdjson::dom::element JsonNode::element() const noexcept { return std::bit_cast<simdjson::dom::element>(element_); }

bool JsonNode::is_null() const noexcept { return !present_ || element().is_null(); }
bool JsonNode::is_string() const noexcept { return present_ && element().is_string(); }
bool JsonNode::is_object() const noexcept { return present_ && element().is_object(); }
bool JsonNode::is_array() const noexcept { return present_ && element().is_array(); }

std::string JsonNode::where() const { return std::string(file_) + (pointer_.empty() ? "" : ": ") + pointer_; }

JsonNode JsonNode::operator[](std::string_view key) const {
  JsonNode out(file_, pointer_ + step(key));
  simdjson::dom::element member;
  if (object()[key].get(member) == simdjson::SUCCESS) out.set(member);
  return out;
}

std::string_view JsonNode::string() const {
  std::string_view out;
  if (!present_ || element().get(out) != simdjson::SUCCESS) wrong("a string");
  return out;
}

bool JsonNode::boolean_or(bool absent) const {
  if (is_null()) return absent;
  bool out = false;
  if (element().get(out) != simdjson::SUCCESS) wrong("true or false");
  return out;
}

std::int64_t JsonNode::integer() const {
  std::int64_t out = 0;
  if (!present_ || element().get(out) != simdjson::SUCCESS) wrong("an integer");
  return out;
}

std::vector<JsonNode> JsonNode::items() const {
  std::vector<JsonNode> out;
  if (is_null()) return out;
  for (const simdjson::dom::element item : array()) {
    JsonNode node(file_, pointer_ + "/" + std::to_string(out.size()));
    node.set(item);
    out.push_back(std::move(node));
  }
  return out;
}

double JsonNode::number() const {
  double out = 0;
  if (!present_ || element().get(out) != simdjson::SUCCESS) wrong("a number");
  return out;
}

simdjson::dom::object JsonNode::object() const {
  simdjson::dom::object out;
  if (!present_ || element().get(out) != simdjson::SUCCESS) wrong("an object");
  return out;
}

simdjson::dom::array JsonNode::array() const {
  simdjson::dom::array out;
  if (!present_ || element().get(out) != simdjson::SUCCESS) wrong("an array");
  return out;
}

void JsonNode::unsupported(std::string_view found, std::string_view expected) const {
  throw_load_error(ErrorCode::kUnsupported, pointer_, "{} is \"{}\"; this build knows {}", where(), found, expected);
}

void JsonNode::wrong(std::string_view expected) const {
  throw_load_error(ErrorCode::kBadFile, pointer_, "{} must be {}{}", where(), expected,
                   present_ ? ", not " + shown(element()) : "; it is missing");
}

void JsonNode::reject(ErrorCode code, std::string_view text) const {
  throw_load_error(code, pointer_, "{}: {}", where(), text);
}

}  // namespace millrace::text
