#include "chat/tools/pythonic_parser.h"

#include <utility>

#include "chat/marker_matcher.h"
#include "chat/tools/python_literal.h"
#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

// Names may have dots and dashes, which Python's have not.
bool is_name(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '.' || c == '-';
}

class PythonicParser final : public ToolParser {
 public:
  PythonicParser(PythonicStyle style, const ToolUse& use, PartWriter& writer)
      : style_(std::move(style)), use_(use), writer_(writer), openers_(style_.openers) {
    if (style_.lines) state_ = State::kContent;
  }

  void finish() override {
    if (!writer_.in_call() && state_ != State::kAfterCall && state_ != State::kClose) writer_.content(raw_);
    writer_.content(openers_.finish());
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kStart:
        if (is_space(byte)) {
          raw_ += byte;
        } else if (byte == '[') {
          bare_ = true;
          begin_list(byte);
        } else {
          give_up(byte);
        }
        break;
      case State::kContent: {
        std::string text;
        const int opener = openers_.push(byte, text);
        writer_.content(text);
        if (opener < 0) break;
        raw_ = openers_.word(opener);
        bare_ = false;
        expect(style_.lines ? State::kName : State::kList);
        break;
      }
      case State::kList:
        if (byte == '[') {
          begin_list(byte);
        } else if (is_space(byte)) {
          raw_ += byte;
        } else {
          give_up(byte);
        }
        break;
      case State::kName: name(byte); break;
      case State::kKey: key(byte); break;
      case State::kValue: value(byte); break;
      case State::kAfterValue: after_value(byte); break;
      case State::kAfterCall: after_call(byte); break;
      case State::kClose: close(byte); break;
    }
  }

 private:
  enum class State : std::uint8_t { kStart, kContent, kList, kName, kKey, kValue, kAfterValue, kAfterCall, kClose };

  void begin_list(char byte) {
    raw_ += byte;
    expect(State::kName);
  }
  void expect(State next) {
    state_ = next;
    text_.clear();
  }
  void give_up(char byte) {
    if (writer_.in_call()) {
      writer_.arguments("}");
      writer_.end_call();
    }
    writer_.content(std::exchange(raw_, {}));
    state_ = State::kContent;
    take(byte);
  }
  void name(char byte) {
    if (is_name(byte) && text_.size() < kMaxName) {
      raw_ += byte;
      text_ += byte;
    } else if (text_.empty() && is_space(byte)) {
      raw_ += byte;
    } else if (byte == '(' && !text_.empty() && (!bare_ || use_.find(text_) != nullptr)) {
      writer_.begin_call(text_);
      writer_.arguments("{");
      raw_.clear();
      any_ = false;
      expect(State::kKey);
    } else {
      give_up(byte);
    }
  }
  void key(char byte) {
    if (is_name(byte) && text_.size() < kMaxName) {
      text_ += byte;
    } else if (is_space(byte)) {
      return;
    } else if (byte == '=' && !text_.empty()) {
      if (any_) writer_.arguments(", ");
      writer_.arguments(json_string(text_));
      writer_.arguments(": ");
      any_ = true;
      literal_ = {};
      expect(State::kValue);
    } else if (byte == ')' && text_.empty()) {
      end_call();
    } else {
      raw_ = text_;
      give_up(byte);
    }
  }
  void value(char byte) {
    std::string json;
    const PythonLiteral::Step step = literal_.push(byte, json);
    writer_.arguments(json);
    if (step == PythonLiteral::Step::kBad) return give_up(byte);
    if (step == PythonLiteral::Step::kMore) return;
    expect(State::kAfterValue);
    if (step == PythonLiteral::Step::kDoneBefore) after_value(byte);
  }
  void after_value(char byte) {
    if (is_space(byte)) return;
    if (byte == ',') return expect(State::kKey);
    if (byte == ')') return end_call();
    give_up(byte);
  }
  void end_call() {
    writer_.arguments("}");
    writer_.end_call();
    raw_.clear();
    state_ = State::kAfterCall;
  }
  void after_call(char byte) {
    if (is_space(byte)) return;
    if (style_.lines) {
      const bool closes = byte == style_.closer[0];
      expect(closes ? State::kClose : State::kName);
      return closes ? close(byte) : name(byte);
    }
    if (byte == ',') {
      raw_.assign(1, byte);
      expect(State::kName);
    } else if (byte == ']') {
      expect(style_.closer.empty() ? State::kContent : State::kClose);
    } else {
      give_up(byte);
    }
  }
  void close(char byte) {
    if (text_.empty() && is_space(byte)) return;
    text_ += byte;
    if (!style_.closer.starts_with(text_)) {
      text_.pop_back();
      raw_ = std::exchange(text_, {});
      return give_up(byte);
    }
    if (text_ == style_.closer) state_ = State::kContent;
  }

  const PythonicStyle style_;
  const ToolUse& use_;
  PartWriter& writer_;
  MarkerMatcher openers_;
  State state_ = State::kStart;
  PythonLiteral literal_;
  bool bare_ = false, any_ = false;  // no marker opened this list; the call has an argument
  std::string raw_;                  // taken, and not yet known to be a call
  std::string text_;                 // of the state
};

}  // namespace

std::unique_ptr<ToolParser> pythonic_parser(PythonicStyle style, const ToolUse& use, PartWriter& writer) {
  return std::make_unique<PythonicParser>(std::move(style), use, writer);
}

}  // namespace millrace::chat::tools
