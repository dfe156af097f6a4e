#include "chat/tools/named_call_parser.h"

#include <utility>

#include "chat/marker_matcher.h"
#include "chat/tools/argument_writer.h"
#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

constexpr std::size_t kMaxHead = 1024;  // bytes; a longer one is no call

std::vector<std::string> openers(const NamedCallStyle& style) {
  if (style.section_open.empty()) return {style.call_open};
  if (style.only_in_section) return {style.section_open};
  return {style.section_open, style.call_open};
}

class NamedCallParser final : public ToolParser {
 public:
  NamedCallParser(NamedCallStyle style, PartWriter& writer)
      : style_(std::move(style)), writer_(writer), arguments_(writer), openers_(openers(style_)) {}

  void finish() override {
    if (state_ == State::kHead || (state_ == State::kBetween && !called_)) writer_.content(raw_);
    writer_.content(openers_.finish());
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kContent: {
        std::string text;
        const int opener = openers_.push(byte, text);
        writer_.content(text);
        if (opener < 0) break;
        raw_ = openers_.word(opener);
        in_section_ = raw_ == style_.section_open;
        in_section_ ? go_between(false) : begin_head();
        break;
      }
      case State::kBetween: between(byte); break;
      case State::kHead: head(byte); break;
      case State::kArguments: arguments(byte); break;
      case State::kAfterArguments: after_arguments(byte); break;
    }
  }

 private:
  enum class State : std::uint8_t { kContent, kBetween, kHead, kArguments, kAfterArguments };

  void go_between(bool called) {
    state_ = State::kBetween;
    called_ = called;
    matched_.clear();
  }
  void begin_head() {
    state_ = State::kHead;
    head_.clear();
  }
  void give_up(char byte) {
    writer_.content(std::exchange(raw_, {}));
    state_ = State::kContent;
    in_section_ = false;
    take(byte);
  }
  // In a section, before, between and after its calls.
  void between(char byte) {
    if (matched_.empty() && (is_space(byte) || style_.ignored_between.find(byte) != std::string_view::npos)) {
      raw_ += byte;
      return;
    }
    matched_ += byte;
    const bool opens = style_.call_open.starts_with(matched_), closes = style_.section_close.starts_with(matched_);
    if (!opens && !closes) {
      raw_ += matched_.substr(0, matched_.size() - 1);
      return give_up(byte);
    }
    if (opens && matched_ == style_.call_open) {
      raw_ += matched_;
      begin_head();
    } else if (closes && matched_ == style_.section_close) {
      raw_.clear();
      state_ = State::kContent;
      in_section_ = false;
    }
  }
  void head(char byte) {
    if (byte != '{') {
      raw_ += byte;
      head_ += byte;
      if (head_.size() <= kMaxHead) return;
      const char last = raw_.back();
      raw_.pop_back();
      return give_up(last);
    }
    const std::string_view name = style_.name(head_);
    if (name.empty()) return give_up(byte);
    arguments_.begin_call(name);
    raw_.clear();
    state_ = State::kArguments;
    arguments(byte);
  }
  void arguments(char byte) {
    const ArgumentWriter::Step step = arguments_.push(byte);
    if (step == ArgumentWriter::Step::kMore) return;
    if (step == ArgumentWriter::Step::kNotTaken) return give_up(byte);
    matched_.clear();
    state_ = State::kAfterArguments;
    if (style_.call_close.empty()) end_of_call();
  }
  void end_of_call() {
    raw_.clear();
    if (in_section_) return go_between(true);
    state_ = State::kContent;
  }
  void after_arguments(char byte) {
    raw_ += byte;
    if (matched_.empty() && style_.ignored_after.find(byte) != std::string_view::npos) return;
    matched_ += byte;
    if (!style_.call_close.starts_with(matched_)) {
      raw_.pop_back();
      return give_up(byte);
    }
    if (matched_ == style_.call_close) end_of_call();
  }

  const NamedCallStyle style_;
  PartWriter& writer_;
  ArgumentWriter arguments_;
  MarkerMatcher openers_;
  State state_ = State::kContent;
  bool in_section_ = false, called_ = false;
  std::string raw_;             // taken, and not yet known to be a call
  std::string head_, matched_;  // matched_: the beginning of a marker that must come
};

}  // namespace

std::unique_ptr<ToolParser> named_call_parser(NamedCallStyle style, const ToolUse& /*use*/, PartWriter& writer) {
  return std::make_unique<NamedCallParser>(std::move(style), writer);
}

}  // namespace millrace::chat::tools
