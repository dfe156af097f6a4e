// [TOOL_CALLS] and then a JSON list of {"name", "arguments"} (tokenizers up to v7), or of each call its name, perhaps
// [CALL_ID] and [ARGS], and the arguments (from v11 on): whatever comes is read.

#include "chat/marker_matcher.h"
#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"
#include "chat/tools/named_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kOpener = "[TOOL_CALLS]";

int recognise(std::string_view chat_template) { return 2 * (chat_template.find(kOpener) != std::string_view::npos); }

std::string_view name_in(std::string_view head) {
  head = head.substr(0, head.find('['));
  while (!head.empty() && (head.front() == ' ' || head.front() == '\n')) head.remove_prefix(1);
  while (!head.empty() && (head.back() == ' ' || head.back() == '\n')) head.remove_suffix(1);
  return head;
}

class Mistral final : public ToolParser {
 public:
  Mistral(const ToolUse& use, PartWriter& writer) : use_(use), writer_(writer), opener_({std::string(kOpener)}) {}

  void finish() override {
    if (calls_ != nullptr) return calls_->finish();
    if (opened_) writer_.content(std::string(kOpener) + space_);
    writer_.content(opener_.finish());
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    if (calls_ != nullptr) return calls_->push({&byte, 1});
    if (!opened_) {
      std::string text;
      opened_ = opener_.push(byte, text) >= 0;
      writer_.content(text);
      return;
    }
    if (byte == ' ' || byte == '\n') {
      space_ += byte;
      return;
    }
    const bool json = byte == '[' || byte == '{';
    calls_ = json ? json_call_parser({.openers = {std::string(kOpener)}, .closer = ""}, use_, writer_)
                  : named_call_parser({.section_open = "",
                                       .section_close = "",
                                       .call_open = std::string(kOpener),
                                       .call_close = "",
                                       .name = name_in},
                                      use_, writer_);
    calls_->push(std::string(kOpener) + space_ + byte);
  }

 private:
  const ToolUse& use_;
  PartWriter& writer_;
  MarkerMatcher opener_;
  bool opened_ = false;
  std::string space_;                  // after the opener
  std::unique_ptr<ToolParser> calls_;  // once it is clear which kind they are
};

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return std::make_unique<Mistral>(use, writer);
}

// A vocabulary with [ARGS] has the newer spelling; where it has none, that branch would write those characters, so both
// are there and the model chooses.
Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto object = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!object) return object;
  auto named = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.special(kOpener), to.bytes(tool.name), to.special("[ARGS]"), *arguments});
  });
  if (!named) return named;
  const auto comma = to.sequence({to.space(), to.bytes(","), to.space()});
  const auto list = to.sequence({to.special(kOpener), to.space(), to.bytes("["), to.space(), to.several(*object, comma),
                                 to.space(), to.bytes("]")});
  return to.grammar().choice({list, to.several(*named, to.bytes(""))});
}

}  // namespace

ToolFormat mistral() {
  return {.name = "mistral",
          .description = "[TOOL_CALLS] and a JSON list, or name[ARGS]{...}: Mistral",
          .aliases = {},
          .recognise = recognise,
          .markers = {kOpener, "[ARGS]", "[CALL_ID]"},
          .ids = CallIds::kShort,
          .parser = parser,
          .calls = calls,
          .openers = {kOpener}};
}

}  // namespace millrace::chat::tools::formats
