// Messages with recipients, of which "self" is reasoning, "user" content and any other a function: Muse Glimmer.
//   to=self<|message|>TEXT<|eom|><|start|>assistant to=user<|message|>TEXT<|eot|>
//   to=f<|message|><atem:function_calls><atem:invoke name="f"><atem:parameter name="a">1</atem:parameter>
//   </atem:invoke></atem:function_calls>

#include "chat/tools/call_grammar.h"
#include "chat/tools/channel_parser.h"
#include "chat/tools/tagged_call_parser.h"
#include "chat/tools/tagged_grammar.h"

namespace millrace::chat::tools::formats {
namespace {

using Id = grammar::ExpressionId;

constexpr std::string_view kStart = "<|start|>", kMessage = "<|message|>", kNext = "<|eom|>", kEnd = "<|eot|>";
constexpr std::string_view kOpen = "<atem:function_calls>", kClose = "</atem:function_calls>";
constexpr std::string_view kInvoke = "<atem:invoke name=\"", kInvoked = "</atem:invoke>";
constexpr std::string_view kKey = "<atem:parameter name=\"", kValueEnd = "</atem:parameter>";

int recognise(std::string_view chat_template) { return 4 * (chat_template.find(kOpen) != std::string_view::npos); }

ChannelStyle::Kind kind_of(std::string_view head) {
  const std::size_t to = head.find("to=");
  if (to == std::string_view::npos) return ChannelStyle::Kind::kContent;
  const std::string_view recipient = head.substr(to + 3);
  if (recipient == "self") return ChannelStyle::Kind::kReasoning;
  return recipient == "user" ? ChannelStyle::Kind::kContent : ChannelStyle::Kind::kCalls;
}

std::unique_ptr<ToolParser> call_parser(const ToolUse& use, PartWriter& writer) {
  return tagged_call_parser({.open = std::string(kOpen),
                             .name_open = std::string(kInvoke),
                             .name_end = "\">",
                             .key_open = std::string(kKey),
                             .key_end = "\">",
                             .value_open = "",
                             .value_close = std::string(kValueEnd),
                             .name_close = std::string(kInvoked),
                             .close = std::string(kClose)},
                            use, writer);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return channel_parser({.start = std::string(kStart) + "assistant",
                         .head_end = std::string(kMessage),
                         .ends = {std::string(kNext), std::string(kEnd), std::string(kStart)},
                         .begins = {" to=", "to="},
                         .kind = kind_of,
                         .calls_open = "",
                         .calls = call_parser},
                        use, writer);
}

Id next(CallGrammar& to) { return to.sequence({to.special(kNext), to.special(kStart), to.bytes("assistant")}); }

Id head(CallGrammar& to, const std::string& recipient) {
  return to.sequence({to.bytes(" to=" + recipient), to.special(kMessage)});
}

// Up to and with the next message's start.
Id message(CallGrammar& to, const std::string& recipient) {
  return to.sequence({head(to, recipient), to.until(kNext), to.special(kStart), to.bytes("assistant")});
}

Result<Id> one_call(CallGrammar& to) {
  return tagged_call(to, {.open =
                              [&](const std::string& name) {
                                return to.sequence({head(to, name), to.bytes(kOpen),
                                                    to.bytes("\n" + std::string(kInvoke) + name + "\">\n")});
                              },
                          .key = [&](const std::string& name) { return to.bytes(std::string(kKey) + name + "\">"); },
                          .value_close = std::string(kValueEnd),
                          .after_value = to.bytes("\n"),
                          .between = to.bytes(""),
                          .close = to.sequence({to.bytes(kInvoked), to.bytes("\n"), to.bytes(kClose)})});
}

Result<Id> several_calls(CallGrammar& to) {
  auto call = one_call(to);
  if (!call) return call;
  return to.sequence({to.several(*call, next(to)), to.grammar().optional(to.special(kEnd))});
}

Id thoughts(CallGrammar& to) { return to.grammar().repeat(message(to, "self"), 0, grammar::kUnlimited); }

Result<Id> calls(CallGrammar& to) {
  auto called = several_calls(to);
  if (!called) return called;
  return to.sequence({thoughts(to), *called});
}

// Any thoughts and any words, each a message of its own; then words that end the answer, or calls.
Result<Id> answer(CallGrammar& to) {
  grammar::Grammar& g = to.grammar();
  auto called = several_calls(to);
  if (!called) return called;
  auto text = to.text_without({std::string(kStart), std::string(kMessage), std::string(kNext), std::string(kEnd)});
  if (!text) return text;
  const Id before = g.repeat(g.choice({message(to, "self"), message(to, "user")}), 0, grammar::kUnlimited);
  const Id last = to.sequence({head(to, "user"), *text, g.optional(to.special(kEnd))});
  return to.sequence({before, g.choice({last, *called})});
}

Id content(CallGrammar& to, Id text) { return to.sequence({thoughts(to), head(to, "user"), text}); }

}  // namespace

ToolFormat muse_glimmer() {
  return {.name = "muse_glimmer",
          .description = "messages with recipients, <atem:invoke name=\"f\"> to functions, reasoning too: Muse Glimmer",
          .aliases = {},
          .recognise = recognise,
          .markers = {kStart, kMessage, kNext, kEnd},
          .always = true,
          .parser = parser,
          .calls = calls,
          .content = content,
          .answer = answer};
}

}  // namespace millrace::chat::tools::formats
