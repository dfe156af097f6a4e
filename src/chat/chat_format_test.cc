#include "chat/chat_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/memory_env.h"

namespace millrace::chat {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlain = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";

const MemoryEnv kStandingClock;
const TemplateContext kContext{.bos_token = "<s>", .eos_token = "</s>", .clock = &kStandingClock};

Result<TemplateCapabilities> probed(std::string_view source) {
  return probe(**ChatTemplate::compile(source), kContext);
}

std::string failure(const ChatTemplateSet& set) {
  const auto format = ChatFormat::load(set, kContext);
  return format ? "" : format.error().message;
}

std::string rendered(const ChatTemplateSet& set, const Json& request, std::string_view name = {}) {
  const auto pieces = (*ChatFormat::load(set, kContext))->render(request, 0, name);
  if (!pieces) return "error: " + pieces.error().message;
  std::string out;
  for (const text::TextPiece& piece : *pieces) out += piece.trusted ? piece.text : "[" + piece.text + "]";
  return out;
}

const Json kRequest = {{"messages", Json::array({{{"role", "user"}, {"content", "<s>"}}})}};
const Json kRequestWithTools = Json::parse(
    R"({"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f"}}]})");

TEST(ChatCapabilities, SeesWhatAPlainTemplateDoes) {
  const auto found = probed(kPlain);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->content_strings);
  EXPECT_FALSE(found->content_parts);  // they would be printed as Python shows them
  EXPECT_TRUE(found->system_role);
  EXPECT_FALSE(found->developer_role);  // written, but as any role would be
  EXPECT_FALSE(found->tools || found->documents || found->generation_prompt || found->thinks_by_default);
  EXPECT_EQ(found->tool_arguments, ToolArguments::kNone);
  EXPECT_EQ(found->thinking_switch, ThinkingSwitch::kNone);
}

TEST(ChatCapabilities, SeesWhetherSystemMessagesMayComeLater) {
  const auto later = [](std::string_view source) { return probed(source)->later_system; };
  EXPECT_TRUE(later(kPlain));
  // Rejected, dropped, moved to the front.
  EXPECT_FALSE(
      later("{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('no') }}"
            "{% endif %}{{ m.content }}{% endfor %}"));
  EXPECT_FALSE(
      later("{% for m in messages %}{% if m.role != 'system' or loop.first %}{{ m.content }}{% endif %}{% endfor %}"));
  EXPECT_FALSE(
      later("{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}"
            "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}"));
  EXPECT_FALSE(
      later("{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}"
            "{% endif %}{{ m.content }}{% endfor %}"));
}

TEST(ChatCapabilities, SeesTheFormOfContent) {
  const auto parts = probed("{% for m in messages %}{{ m.content[0].text }}{% endfor %}");
  ASSERT_TRUE(parts);
  EXPECT_FALSE(parts->content_strings);
  EXPECT_TRUE(parts->content_parts);
  EXPECT_TRUE(parts->system_role);
}

TEST(ChatCapabilities, SeesTheFormOfArguments) {
  const auto arguments = [](std::string expression) {
    const auto found = probed("{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ " +
                              expression + " }}{% endfor %}{% endfor %}");
    return found->tool_arguments;
  };
  EXPECT_EQ(arguments("c.function.arguments | tojson"), ToolArguments::kObject);
  EXPECT_EQ(arguments("'' + c.function.arguments"), ToolArguments::kString);
  EXPECT_EQ(arguments("c.function.arguments"), ToolArguments::kString);  // an object would be Python's, not JSON
  EXPECT_EQ(arguments("c.function.arguments if c.function.arguments is string else c.function.arguments | tojson"),
            ToolArguments::kEither);
  EXPECT_EQ(arguments("c.function.name"), ToolArguments::kNone);
}

TEST(ChatCapabilities, SeesTheContentThatToolCallsNeed) {
  constexpr const char* kNull =
      "{% for m in messages %}{% if m.content is none %}{{ m.tool_calls[0].function.arguments | tojson }}{% else %}"
      "{{ m.content }}{% endif %}{% endfor %}";
  EXPECT_TRUE(probed(kNull)->null_content);
  EXPECT_FALSE(probed(kNull)->empty_content);
  constexpr const char* kString =
      "{% for m in messages %}{{ '' + m.content }}{% if m.tool_calls %}{{ m.tool_calls[0].function.arguments | tojson "
      "}}"
      "{% endif %}{% endfor %}";
  EXPECT_FALSE(probed(kString)->null_content);
  EXPECT_TRUE(probed(kString)->empty_content);
  EXPECT_FALSE(probed(kString)->parallel_tool_calls);
}

TEST(ChatCapabilities, SeesHowThinkingIsSwitched) {
  const auto with = [](std::string end) { return *probed(kPlain + end); };
  auto found = with("{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}");
  EXPECT_EQ(found.thinking_switch, ThinkingSwitch::kEnableThinking);
  EXPECT_TRUE(found.thinks_by_default);
  EXPECT_EQ(found.opened_thinking, "");
  found = with("{% if add_generation_prompt %}{{ '<think>\n' if thinking else '</think>' }}{% endif %}");
  EXPECT_EQ(found.thinking_switch, ThinkingSwitch::kThinking);
  EXPECT_TRUE(found.generation_prompt);
  EXPECT_FALSE(found.thinks_by_default);
  EXPECT_EQ(found.opened_thinking, "<think>");
  found = with("{{ reasoning_effort }}");
  EXPECT_EQ(found.thinking_switch, ThinkingSwitch::kReasoningEffort);
  EXPECT_TRUE(found.thinks_by_default);
  EXPECT_EQ(found.efforts, std::vector<std::string>{});
  found = with("[THINK]");
  EXPECT_EQ(found.thinking_switch, ThinkingSwitch::kNone);
  EXPECT_TRUE(found.thinks_by_default);
}

TEST(ChatCapabilities, KnowsTheEffortsOfATemplate) {
  const auto with = [](std::string end) { return *probed(kPlain + end); };
  auto found = with(
      "{% set effort = reasoning_effort | default('no_think') %}{% if effort not in ['high', 'low', 'no_think'] %}"
      "{{ raise_exception('no') }}{% endif %}{{ effort }}{{ '<think>' if effort != 'no_think' }}");
  EXPECT_EQ(found.efforts, (std::vector<std::string>{"no_think", "low", "high"}));
  EXPECT_FALSE(found.thinks_by_default);
  EXPECT_EQ(found.opened_thinking, "<think>");
  // Any other word renders as the default does.
  found = with("{% if reasoning_effort in ['low', 'minimal'] %}<think></think>{% endif %}");
  EXPECT_EQ(found.efforts, (std::vector<std::string>{"minimal", "low"}));
}

TEST(ChatCapabilities, DoesNotTakeAUsersWordForAnOpenedTag) {
  EXPECT_EQ(opened_thinking_tag(std::vector<text::TextPiece>{{"<|a|>", true}, {"<think>", false}}), "");
  EXPECT_EQ(opened_thinking_tag(std::vector<text::TextPiece>{{"hi", false}, {"<|a|><think>\n", true}}), "<think>");
  EXPECT_EQ(opened_thinking_tag({}), "");
}

TEST(ChatFormat, RefusesToLoadATemplateThatCannotRenderAMessage) {
  EXPECT_EQ(failure({{{"default", "{{ raise_exception('never') }}"}}}),
            "the chat template cannot render a single user message: never");
  EXPECT_EQ(failure({{{"default", "hello"}}}),
            "the chat template cannot render a single user message: it does not write the message's content");
  EXPECT_NE(failure({{{"default", kPlain}, {"rag", "{% for %}"}}}).find("chat template 'rag': "), std::string::npos);
  EXPECT_EQ(failure({}), "this model has no chat template");
  EXPECT_EQ(failure({{{"default", kPlain}}}), "");
}

TEST(ChatFormat, ProbesWithToolsATemplateThatNeedsThem) {
  EXPECT_EQ(failure({{{"default", kPlain}, {"tool_use", "{{ tools[0].function.name + messages[-1].content }}"}}}), "");
}

TEST(ChatFormat, ChoosesAsTransformersDoes) {
  const std::string plain = kPlain;
  const ChatTemplateSet set{{{"default", plain}, {"tool_use", "T" + plain}, {"rag", "R" + plain}}};
  EXPECT_EQ(rendered(set, kRequest), "<user>[<s>]");
  EXPECT_EQ(rendered(set, kRequestWithTools), "T<user>[x]");
  EXPECT_EQ(rendered(set, kRequestWithTools, "rag"), "R<user>[x]");
  EXPECT_EQ(rendered(set, kRequestWithTools, "default"), "<user>[x]");
  EXPECT_EQ(rendered(set, kRequest, "x"),
            "error: this model has no chat template of that name; it has default, rag, tool_use");
  EXPECT_EQ(rendered({{{"rag", plain}}}, kRequest),
            "error: this model has several chat templates and no default: name one of rag");
}

TEST(ChatFormat, GivesTheTemplatesOwnErrorForARoleItDoesNotTake) {
  const std::string source =
      "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}";
  EXPECT_EQ(
      rendered({{{"default", source + kPlain}}}, {{"messages", Json::array({{{"role", "system"}, {"content", "x"}}})}}),
      "error: System role not supported");
}

TEST(ChatFormat, RefusesABadRequest) {
  EXPECT_EQ(rendered({{{"default", kPlain}}}, Json("x")), "error: body must be an object, not string");
  EXPECT_EQ(rendered({{{"default", kPlain}}}, Json::object()),
            "error: messages is missing or empty; at least one message is needed");
}

}  // namespace
}  // namespace millrace::chat
