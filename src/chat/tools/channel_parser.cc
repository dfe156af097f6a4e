#include "chat/tools/channel_parser.h"

#include <algorithm>
#include <utility>

#include "chat/marker_matcher.h"
#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

constexpr std::size_t kMaxChannelHead = 512;  // bytes

class ChannelParser final : public ToolParser {
 public:
  ChannelParser(ChannelStyle style, const ToolUse& use, PartWriter& writer)
      : style_(std::move(style)), use_(use), writer_(writer), ends_(style_.ends) {}

  void finish() override {
    if (state_ == State::kHead) writer_.content(head_);
    if (state_ == State::kText) end_text(ends_.finish());
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kStart: start(byte); break;
      case State::kHead: head(byte); break;
      case State::kText: {
        std::string text;
        const bool ends = ends_.push(byte, text) >= 0;
        if (!ends) return say(text);
        end_text(text);
        head_.clear();
        state_ = State::kStart;
        break;
      }
    }
  }

 private:
  enum class State : std::uint8_t { kStart, kHead, kText };
  using Kind = ChannelStyle::Kind;

  // Between two messages: what is no further message belongs to none.
  void start(char byte) {
    if (head_.empty() && is_space(byte)) return;
    head_ += byte;
    if (!style_.start.starts_with(head_)) return begin_text(Kind::kContent, std::exchange(head_, {}));
    if (head_ != style_.start) return;
    head_.clear();
    state_ = State::kHead;
  }
  void head(char byte) {
    head_ += byte;
    if (head_.ends_with(style_.head_end)) {
      head_.resize(head_.size() - style_.head_end.size());
      return begin_text(style_.kind(std::exchange(head_, {})), {});
    }
    const auto goes_with = [this](const std::string& begin) {
      return begin.starts_with(head_) || head_.starts_with(begin);
    };
    const bool is_head = style_.head_end.starts_with(head_) || std::ranges::any_of(style_.begins, goes_with);
    if (!is_head || head_.size() > kMaxChannelHead) begin_text(Kind::kContent, std::exchange(head_, {}));
  }
  void begin_text(Kind kind, const std::string& text) {
    kind_ = kind;
    state_ = State::kText;
    if (kind == Kind::kCalls) {
      calls_ = style_.calls(use_, writer_);
      calls_->push(style_.calls_open);
    }
    push(text);
  }
  void say(std::string_view text) {
    if (kind_ == Kind::kCalls) return calls_->push(text);
    kind_ == Kind::kReasoning ? writer_.reasoning(text) : writer_.content(text);
  }
  void end_text(std::string_view text) {
    say(text);
    if (calls_ != nullptr) calls_->finish();  // a call that has not ended ends here
    calls_ = nullptr;
  }

  const ChannelStyle style_;
  const ToolUse& use_;
  PartWriter& writer_;
  MarkerMatcher ends_;
  State state_ = State::kHead;
  Kind kind_ = Kind::kContent;
  std::unique_ptr<ToolParser> calls_;  // of this text
  std::string head_;
};

}  // namespace

std::unique_ptr<ToolParser> channel_parser(ChannelStyle style, const ToolUse& use, PartWriter& writer) {
  return std::make_unique<ChannelParser>(std::move(style), use, writer);
}

}  // namespace millrace::chat::tools
