#include "chat/tools/recipient_parser.h"

#include <utility>

#include "chat/marker_matcher.h"
#include "chat/tools/argument_writer.h"

namespace millrace::chat::tools {
namespace {

constexpr std::size_t kMaxRecipient = 256;  // bytes

class RecipientParser final : public ToolParser {
 public:
  RecipientParser(RecipientStyle style, const ToolUse& use, PartWriter& writer)
      : style_(std::move(style)), use_(use), writer_(writer), arguments_(writer), next_({style_.next}) {}

  void finish() override {
    if (state_ == State::kHead || state_ == State::kBrace) {
      writer_.content(head_);
    } else if (state_ == State::kText) {
      writer_.content(next_.finish());
    }
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kHead: head(byte); break;
      case State::kBrace: brace(byte); break;
      case State::kText: {
        std::string text;
        const bool ends = next_.push(byte, text) >= 0;
        writer_.content(text);
        if (ends) begin_head();
        break;
      }
      case State::kArguments: {
        const ArgumentWriter::Step step = arguments_.push(byte);
        if (step == ArgumentWriter::Step::kMore) return;
        state_ = State::kText;
        if (step == ArgumentWriter::Step::kNotTaken) take(byte);
        break;
      }
    }
  }

 private:
  enum class State : std::uint8_t { kHead, kBrace, kText, kArguments };

  void begin_head() {
    head_.clear();
    state_ = State::kHead;
  }
  void head(char byte) {
    head_ += byte;
    if (head_.ends_with(style_.head_end)) {
      const std::string name = head_.substr(0, head_.size() - style_.head_end.size());
      if (name == style_.everybody) {
        state_ = State::kText;
      } else if (use_.find(name) != nullptr) {
        state_ = State::kBrace;
      } else {
        text_after_all();
      }
    } else if (head_.size() > kMaxRecipient) {
      text_after_all();
    }
  }
  // Arguments must follow at once where any text might begin with a line that is a function's name.
  void brace(char byte) {
    if (style_.everybody.empty() && byte != '{') {
      head_ += byte;
      return text_after_all();
    }
    arguments_.begin_call(std::string_view(head_).substr(0, head_.size() - style_.head_end.size()));
    state_ = State::kArguments;
    take(byte);
  }
  // No head: an answer that names no recipient.
  void text_after_all() {
    state_ = State::kText;
    const std::string text = std::exchange(head_, {});
    for (const char byte : text) {
      std::string known;
      static_cast<void>(next_.push(byte, known));
      writer_.content(known);
    }
  }

  const RecipientStyle style_;
  const ToolUse& use_;
  PartWriter& writer_;
  ArgumentWriter arguments_;
  MarkerMatcher next_;
  State state_ = State::kHead;
  std::string head_;
};

}  // namespace

std::unique_ptr<ToolParser> recipient_parser(RecipientStyle style, const ToolUse& use, PartWriter& writer) {
  return std::make_unique<RecipientParser>(std::move(style), use, writer);
}

}  // namespace millrace::chat::tools
