#include "chat/tools/json_call_parser.h"

#include <utility>

#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

class JsonCallParser final : public ToolParser {
 public:
  JsonCallParser(JsonCallStyle style, const ToolUse& use, PartWriter& writer)
      : style_(std::move(style)), use_(use), writer_(writer), openers_(style_.openers) {
    if (style_.bare) state_ = State::kStart;
  }

  void finish() override {
    if (!writer_.in_call() && state_ != State::kAfterCall) writer_.content(raw_);
    writer_.content(openers_.finish());
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kStart:
        if (is_space(byte)) {
          raw_ += byte;
        } else if (byte == '{' || byte == '[') {
          begin_calls(true);
          take(byte);
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
        begin_calls(false);
        break;
      }
      case State::kBeforeCall: before_call(byte); break;
      case State::kCall: in_call(byte); break;
      case State::kAfterCall: after_call(byte); break;
    }
  }

 private:
  enum class State : std::uint8_t { kStart, kContent, kBeforeCall, kCall, kAfterCall };

  void begin_calls(bool bare) {
    bare_ = bare;
    list_ = false;
    state_ = State::kBeforeCall;
  }
  // What was taken for a call is content, and so is what follows.
  void give_up(char byte) {
    writer_.content(std::exchange(raw_, {}));
    state_ = State::kContent;
    take(byte);
  }
  void before_call(char byte) {
    if (is_space(byte) || (byte == '[' && !list_)) {
      list_ |= byte == '[';
      raw_ += byte;
    } else if (byte == '{') {
      raw_ += byte;
      reader_.emplace(use_, writer_, bare_);
      state_ = State::kCall;
    } else {
      give_up(byte);
    }
  }
  void in_call(char byte) {
    const bool begun = writer_.in_call();
    switch (reader_->push(byte)) {
      case JsonCallReader::Step::kMore:
        if (!writer_.in_call())
          raw_ += byte;
        else if (!begun)
          raw_.clear();
        break;
      case JsonCallReader::Step::kDone:
        raw_.clear();
        matched_ = 0;
        comma_ = false;
        state_ = State::kAfterCall;
        break;
      case JsonCallReader::Step::kBad:
        if (writer_.in_call()) {
          writer_.end_call();
          raw_.clear();
        }
        give_up(byte);
    }
  }
  // ']', what closes, or another call.
  void after_call(char byte) {
    if (matched_ > 0 || (!style_.closer.empty() && byte == style_.closer[0] && !(list_ && byte == ']'))) {
      raw_ += byte;
      if (byte != style_.closer[matched_]) {
        const char last = raw_.back();
        raw_.pop_back();
        return give_up(last);
      }
      if (++matched_ < style_.closer.size()) return;
      raw_.clear();
      state_ = State::kContent;
      return;
    }
    if (is_space(byte)) {
      raw_ += byte;
    } else if (list_ && byte == ']') {
      list_ = false;
      raw_.clear();
      if (style_.closer.empty()) state_ = State::kContent;
    } else if ((byte == ',' || byte == ';') && !comma_) {
      raw_ += byte;
      comma_ = true;
    } else if (byte == '{') {
      begin_another();
      take(byte);
    } else {
      give_up(byte);
    }
  }
  void begin_another() {
    const bool list = list_;
    begin_calls(bare_);
    list_ = list;
  }

  const JsonCallStyle style_;
  const ToolUse& use_;
  PartWriter& writer_;
  MarkerMatcher openers_;
  State state_ = State::kContent;
  bool bare_ = false, list_ = false;  // no marker opened these calls; they stand in brackets
  bool comma_ = false;
  std::optional<JsonCallReader> reader_;
  std::string raw_;          // taken, and not yet known to be a call
  std::size_t matched_ = 0;  // of the closer
};

}  // namespace

std::unique_ptr<ToolParser> json_call_parser(JsonCallStyle style, const ToolUse& use, PartWriter& writer) {
  return std::make_unique<JsonCallParser>(std::move(style), use, writer);
}

}  // namespace millrace::chat::tools
