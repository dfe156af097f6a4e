#include "chat/tools/json_scanner.h"

#include <string_view>

#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }

}  // namespace

JsonScanner::Step JsonScanner::begin_value(char byte) {
  switch (byte) {
    case '{':
    case '[':
      if (open_.size() == kDepth) return Step::kBad;
      open_ += byte;
      state_ = byte == '{' ? State::kFirstKey : State::kFirstElement;
      return Step::kMore;
    case '"':
      string_is_key_ = false;
      state_ = State::kString;
      return Step::kMore;
    case 't': word_ = "rue"; break;
    case 'f': word_ = "alse"; break;
    case 'n': word_ = "ull"; break;
    case '-': state_ = State::kMinus; return Step::kMore;
    case '0': state_ = State::kZero; return Step::kMore;
    default:
      if (!is_digit(byte)) return Step::kBad;
      state_ = State::kDigits;
      return Step::kMore;
  }
  state_ = State::kWord;
  return Step::kMore;
}

JsonScanner::Step JsonScanner::end_value() {
  state_ = open_.empty() ? State::kEnd : State::kAfterValue;
  return open_.empty() ? Step::kDone : Step::kMore;
}

bool JsonScanner::number_may_end() const noexcept {
  return state_ == State::kZero || state_ == State::kDigits || state_ == State::kFraction ||
         state_ == State::kExponentDigits;
}

JsonScanner::Step JsonScanner::in_number(char byte) {
  const auto go = [&](State next) {
    state_ = next;
    return Step::kMore;
  };
  const bool exponent = byte == 'e' || byte == 'E';
  switch (state_) {
    case State::kMinus:
      if (byte == '0') return go(State::kZero);
      return is_digit(byte) ? go(State::kDigits) : Step::kBad;
    case State::kPoint: return is_digit(byte) ? go(State::kFraction) : Step::kBad;
    case State::kExponent:
      if (byte == '+' || byte == '-') return go(State::kExponentSign);
      [[fallthrough]];
    case State::kExponentSign: return is_digit(byte) ? go(State::kExponentDigits) : Step::kBad;
    case State::kZero:
    case State::kDigits:
      if (byte == '.') return go(State::kPoint);
      if (exponent) return go(State::kExponent);
      if (is_digit(byte)) return state_ == State::kDigits ? Step::kMore : Step::kBad;
      break;
    case State::kFraction:
      if (exponent) return go(State::kExponent);
      [[fallthrough]];
    default:
      if (is_digit(byte)) return Step::kMore;
  }
  if (open_.empty()) {
    state_ = State::kEnd;
    return Step::kDoneBefore;
  }
  state_ = State::kAfterValue;
  return after_value(byte);
}

JsonScanner::Step JsonScanner::after_value(char byte) {
  if (is_space(byte)) return Step::kMore;
  const bool object = open_.back() == '{';
  if (byte == ',') {
    state_ = object ? State::kKey : State::kValue;
    return Step::kMore;
  }
  if (byte != (object ? '}' : ']')) return Step::kBad;
  open_.pop_back();
  return end_value();
}

JsonScanner::Step JsonScanner::push(char byte) {
  switch (state_) {
    case State::kString:
      if (byte == '\\') {
        state_ = State::kEscape;
      } else if (byte == '"') {
        if (!string_is_key_) return end_value();
        state_ = State::kColon;
      }
      return Step::kMore;
    case State::kEscape:
      if (byte == 'u') {
        hex_ = 4;
        state_ = State::kHex;
        return Step::kMore;
      }
      state_ = State::kString;
      return std::string_view("\"\\/bfnrt").find(byte) == std::string_view::npos ? Step::kBad : Step::kMore;
    case State::kHex:
      if (!is_hex(byte)) return Step::kBad;
      if (--hex_ == 0) state_ = State::kString;
      return Step::kMore;
    case State::kWord:
      if (byte != *word_) return Step::kBad;
      return *++word_ == '\0' ? end_value() : Step::kMore;
    case State::kEnd: return Step::kBad;
    case State::kAfterValue: return after_value(byte);
    case State::kMinus:
    case State::kZero:
    case State::kDigits:
    case State::kPoint:
    case State::kFraction:
    case State::kExponent:
    case State::kExponentSign:
    case State::kExponentDigits: return number_may_end() || !is_space(byte) ? in_number(byte) : Step::kBad;
    default: break;
  }
  if (is_space(byte)) return Step::kMore;
  const bool first_key = state_ == State::kFirstKey, first_element = state_ == State::kFirstElement;
  if (state_ == State::kColon) {
    if (byte != ':') return Step::kBad;
    state_ = State::kValue;
    return Step::kMore;
  }
  if ((first_key && byte == '}') || (first_element && byte == ']')) {
    open_.pop_back();
    return end_value();
  }
  if (first_key || state_ == State::kKey) {
    if (byte != '"') return Step::kBad;
    string_is_key_ = true;
    state_ = State::kString;
    return Step::kMore;
  }
  return begin_value(byte);
}

}  // namespace millrace::chat::tools
