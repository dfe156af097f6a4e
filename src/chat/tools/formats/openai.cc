// Harmony, the format of gpt-oss: messages with a channel and perhaps a recipient.
//   <|channel|>analysis<|message|>TEXT<|end|><|start|>assistant<|channel|>final<|message|>TEXT
//   <|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}<|call|>
// analysis is reasoning; final and commentary without a recipient are content.

#include <utility>

#include "chat/marker_matcher.h"
#include "chat/tools/argument_writer.h"
#include "chat/tools/call_grammar.h"
#include "chat/tools/tool_format.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>", kEnd = "<|end|>";
constexpr std::string_view kConstrain = "<|constrain|>", kCall = "<|call|>", kReturn = "<|return|>";
constexpr std::size_t kMaxHead = 512;  // bytes

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 3 * (has(kChannel) && has(kMessage));
}

class Harmony final : public ToolParser {
 public:
  explicit Harmony(PartWriter& writer)
      : writer_(writer),
        arguments_(writer),
        ends_({std::string(kEnd), std::string(kCall), std::string(kReturn), std::string(kStart),
               std::string(kChannel)}) {}

  void finish() override {
    if (state_ == State::kText) {
      say(ends_.finish());
    } else if (state_ == State::kHead && !begun_) {
      writer_.content(head_);
    }
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kHead: head(byte); break;
      case State::kText: {
        std::string text;
        const int end = ends_.push(byte, text);
        say(text);
        if (end >= 0) begin_head();
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
  enum class State : std::uint8_t { kHead, kText, kArguments };

  void begin_head() {
    head_.clear();
    state_ = State::kHead;
  }
  // All from a message's beginning to <|message|>.
  void head(char byte) {
    head_ += byte;
    // An answer that has no head is content. The prompt may have begun it: " to=functions.f<|channel|>" then follows.
    const bool plain = !begun_ && head_[0] != '<' && !std::string_view(" to=").starts_with(head_.substr(0, 4));
    if (plain || head_.size() > kMaxHead) {
      reasoning_ = false;
      state_ = State::kText;
      const std::string text = std::exchange(head_, {});
      for (const char one : text) take(one);
      return;
    }
    if (!head_.ends_with(kMessage)) return;
    begun_ = true;
    constexpr std::string_view kTo = "to=functions.";
    // What is for a tool of the model's own, such as python, is no word to the user.
    reasoning_ = head_.find("analysis") != std::string::npos || head_.find("to=") != std::string::npos;
    state_ = State::kText;
    const std::size_t to = head_.find(kTo);
    if (to == std::string::npos) return;
    std::string_view name = std::string_view(head_).substr(to + kTo.size());
    name = name.substr(0, name.find_first_of(" <"));
    if (name.empty()) return;
    reasoning_ = false;
    arguments_.begin_call(name);
    state_ = State::kArguments;
  }
  void say(std::string_view text) { reasoning_ ? writer_.reasoning(text) : writer_.content(text); }

  PartWriter& writer_;
  ArgumentWriter arguments_;
  MarkerMatcher ends_;
  State state_ = State::kHead;
  bool begun_ = false, reasoning_ = false;  // a message has begun; this one is the model's own
  std::string head_;
};

std::unique_ptr<ToolParser> parser(const ToolUse& /*use*/, PartWriter& writer) {
  return std::make_unique<Harmony>(writer);
}

// What the model may think before its first word to others.
grammar::ExpressionId analysis(CallGrammar& to) {
  return to.grammar().optional(to.sequence({to.special(kChannel), to.bytes("analysis"), to.special(kMessage),
                                            to.until(kEnd), to.special(kStart), to.bytes("assistant")}));
}

// One call: the model waits for its result.
Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.bytes("functions." + tool.name + " "), to.special(kConstrain), to.bytes("json"),
                        to.special(kMessage), *arguments});
  });
  if (!call) return call;
  return to.sequence({analysis(to), to.special(kChannel), to.bytes("commentary to="), *call,
                      to.grammar().optional(to.special(kCall))});
}

// Any analysis and any words before a call, each a message of its own; then a call, or the final answer. Whom a message
// is for stands before its channel or behind it, and what it is in may be left out: the model writes all of these.
Result<grammar::ExpressionId> answer(CallGrammar& to) {
  grammar::Grammar& g = to.grammar();
  const auto channel = to.sequence({to.special(kChannel), g.choice({to.bytes("commentary"), to.bytes("analysis")})});
  const auto words =
      to.sequence({channel, to.special(kMessage), to.until(kEnd), to.special(kStart), to.bytes("assistant")});
  const auto json = g.optional(g.choice(
      {to.bytes(" json"), to.sequence({g.optional(to.bytes(" ")), to.special(kConstrain), to.bytes("json")})}));
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    const auto recipient = to.bytes(" to=functions." + tool.name);
    const auto head = g.choice({to.sequence({channel, recipient}), to.sequence({recipient, channel})});
    return to.sequence({head, json, to.special(kMessage), *arguments});
  });
  if (!call) return call;
  std::vector<std::string> ends;
  for (const std::string_view word : {kStart, kChannel, kEnd, kCall, kReturn}) ends.emplace_back(word);
  const auto text = to.text_without(ends);
  if (!text) return text;
  const auto last = to.sequence(
      {to.special(kChannel), to.bytes("final"), json, to.special(kMessage), *text, g.optional(to.special(kEnd))});
  return to.sequence(
      {g.repeat(words, 0, grammar::kUnlimited), g.choice({last, to.sequence({*call, g.optional(to.special(kCall))})})});
}

grammar::ExpressionId content(CallGrammar& to, grammar::ExpressionId text) {
  return to.sequence({analysis(to), to.special(kChannel), to.bytes("final"), to.special(kMessage), text});
}

}  // namespace

ToolFormat openai() {
  return {.name = "openai",
          .description = "Harmony, reasoning too: gpt-oss",
          .aliases = {"openai_gptoss", "harmony"},
          .recognise = recognise,
          .markers = {kStart, kChannel, kMessage, kEnd, kConstrain, kCall, kReturn},
          .always = true,
          .parser = parser,
          .calls = calls,
          .content = content,
          .answer = answer};
}

}  // namespace millrace::chat::tools::formats
