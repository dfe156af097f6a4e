#include "chat/tools/python_literal.h"

#include <string_view>
#include <utility>

#include "base/json.h"
#include "chat/tools/json_scanner.h"
#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

constexpr std::size_t kMaxWord = 400;  // bytes: a number's digits

bool is_word(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '+' || c == '-' ||
         c == '.';
}

// What the word is in JSON; empty where it is none.
std::string json_word(std::string_view word) {
  if (word == "True" || word == "true") return "true";
  if (word == "False" || word == "false") return "false";
  if (word == "None" || word == "null") return "null";
  if (word.starts_with('+')) word.remove_prefix(1);
  std::string number(word.starts_with('.') ? "0" : "");
  number += word;
  std::erase(number, '_');
  if (number.ends_with('.')) number += '0';
  const auto parsed = parse_json(number);
  return parsed && parsed->is_number() ? number : std::string();
}

}  // namespace

PythonLiteral::Step PythonLiteral::end_value() {
  if (open_.empty()) return Step::kDone;
  state_ = std::exchange(key_, false) ? State::kColon : State::kAfterValue;
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::begin_value(char byte, std::string& json) {
  if (is_space(byte)) return Step::kMore;
  if (may_close_ && (byte == ']' || byte == '}' || byte == ')')) return after_value(byte, json);
  may_close_ = false;
  if (std::exchange(comma_, false)) json += ", ";
  if (byte == '"' || byte == '\'') {
    quote_ = byte;
    json += '"';
    state_ = State::kString;
    return Step::kMore;
  }
  if (key_) return Step::kBad;  // JSON's keys are strings
  if (byte == '[' || byte == '{' || byte == '(') {
    if (open_.size() == JsonScanner::kDepth) return Step::kBad;
    open_ += byte;
    json += byte == '{' ? '{' : '[';
    key_ = byte == '{';
    may_close_ = true;
    return Step::kMore;
  }
  if (!is_word(byte)) return Step::kBad;
  word_ = byte;
  state_ = State::kWord;
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::in_string(char byte, std::string& json) {
  if (byte == quote_) {
    json += '"';
    return end_value();
  }
  if (byte == '\\') {
    state_ = State::kEscape;
    return Step::kMore;
  }
  if (byte == '"') json += '\\';
  json += json_byte(byte, true);
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::in_word(char byte, std::string& json) {
  if (is_word(byte)) {
    word_ += byte;
    return word_.size() > kMaxWord ? Step::kBad : Step::kMore;
  }
  const std::string value = json_word(word_);
  if (value.empty()) return Step::kBad;
  json += value;
  if (open_.empty()) return Step::kDoneBefore;
  state_ = State::kAfterValue;
  return after_value(byte, json);
}

PythonLiteral::Step PythonLiteral::after_value(char byte, std::string& json) {
  if (is_space(byte)) return Step::kMore;
  const char open = open_.back();
  if (byte == ',') {
    comma_ = may_close_ = true;
    key_ = open == '{';
    state_ = State::kValue;
    return Step::kMore;
  }
  if (byte != (open == '[' ? ']' : open == '{' ? '}' : ')')) return Step::kBad;
  json += open == '{' ? '}' : ']';
  open_.pop_back();
  comma_ = may_close_ = key_ = false;
  return end_value();
}

PythonLiteral::Step PythonLiteral::push(char byte, std::string& json) {
  switch (state_) {
    case State::kValue: return begin_value(byte, json);
    case State::kString: return in_string(byte, json);
    case State::kWord: return in_word(byte, json);
    case State::kAfterValue: return after_value(byte, json);
    case State::kColon:
      if (is_space(byte)) return Step::kMore;
      if (byte != ':') return Step::kBad;
      json += ": ";
      state_ = State::kValue;
      return Step::kMore;
    case State::kEscape:
      if (byte == 'x' || byte == 'u') {
        digits_ = byte == 'x' ? 2 : 4;
        json += byte == 'x' ? "\\u00" : "\\u";
        state_ = State::kCode;
        return Step::kMore;
      }
      state_ = State::kString;
      if (byte == '\n') return Step::kMore;  // a line that goes on
      if (std::string_view("bfnrt\\\"").find(byte) != std::string_view::npos) {
        json += '\\';
        json += byte;
      } else if (byte == '\'') {
        json += byte;
      } else if (byte == '0') {
        json += "\\u0000";
      } else {
        json += "\\\\";
        json += json_byte(byte, true);
      }
      return Step::kMore;
    case State::kCode:
      if (!((byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f'))) return Step::kBad;
      json += byte;
      if (--digits_ == 0) state_ = State::kString;
      return Step::kMore;
  }
  return Step::kBad;
}

}  // namespace millrace::chat::tools
