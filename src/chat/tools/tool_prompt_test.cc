#include "chat/tools/tool_prompt.h"

#include <gtest/gtest.h>

namespace millrace::chat::tools {
namespace {

const Json kTools = Json::parse(R"([{"type": "function", "function": {"name": "now", "parameters": {}}}])");

TEST(ToolPrompt, LeavesAConversationAloneWhoseTemplateKnowsTools) {
  const Json messages = Json::parse(R"([{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "now", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "noon"}])");
  chat::TemplateCapabilities all;
  all.tools = all.tool_results = all.system_role = true;
  all.tool_arguments = chat::ToolArguments::kEither;
  EXPECT_EQ(spelled_out(messages, kTools, all), messages);
}

TEST(ToolPrompt, SpellsOutWhatATemplateDoesNotKnow) {
  const Json messages = Json::parse(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "now", "arguments": {}}}]},
      {"role": "tool", "tool_call_id": "1", "content": "noon"},
      {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "rain"}]}])");
  chat::TemplateCapabilities none;
  none.system_role = true;
  const Json out = spelled_out(messages, kTools, none);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_TRUE(out[0]["content"].get<std::string>().starts_with("Be brief.\n\nYou may call functions."));
  EXPECT_NE(out[0]["content"].get<std::string>().find(R"({"name":"now","parameters":{}})"), std::string::npos);
  EXPECT_EQ(out[2]["content"], "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
  EXPECT_FALSE(out[2].contains("tool_calls"));
  EXPECT_EQ(out[3], Json::parse(R"({"role": "user", "content":
      "<tool_response>\nnoon\n</tool_response>\n<tool_response>\nrain\n</tool_response>"})"));
}

TEST(ToolPrompt, TellsOfToolsInTheFirstMessageWhereThereIsNoSystem) {
  const Json messages = Json::parse(R"([{"role": "user", "content": "Hi"}])");
  const Json out = spelled_out(messages, kTools, {});
  ASSERT_EQ(out.size(), 1u);
  const auto text = out[0]["content"].get<std::string>();
  EXPECT_TRUE(text.starts_with("You may call functions.") && text.ends_with("\n\nHi"));
}

TEST(ToolPrompt, LeavesLaterSystemMessagesInTheirPlaceWhereTheTemplateTakesThem) {
  const Json messages = Json::parse(R"([{"role": "system", "content": "a"}, {"role": "developer", "content": "b"},
      {"role": "user", "content": "c"}, {"role": "system", "content": "d"}])");
  chat::TemplateCapabilities anywhere;
  anywhere.system_role = anywhere.later_system = true;
  EXPECT_EQ(spelled_out(messages, nullptr, anywhere), messages);
}

TEST(ToolPrompt, LaterSystemMessagesAreTheUsersWhereTheTemplateTakesThemFirstOnly) {
  const Json messages = Json::parse(R"([{"role": "system", "content": "a"}, {"role": "developer", "content": "b"},
      {"role": "user", "content": "c"}, {"role": "system", "content": "d"}, {"role": "assistant", "content": "e"},
      {"role": "system", "content": "f"}, {"role": "system", "content": "g"}, {"role": "user", "content": [{"type": "text", "text": "h"}]},
      {"role": "user", "content": "i"}, {"role": "assistant", "content": "j"}, {"role": "system", "content": "k"}])");
  chat::TemplateCapabilities first_only;
  first_only.system_role = true;
  EXPECT_EQ(spelled_out(messages, nullptr, first_only), Json::parse(R"([{"role": "system", "content": "a\n\nb"},
      {"role": "user", "content": "c\n\nd"}, {"role": "assistant", "content": "e"},
      {"role": "user", "content": [{"type": "text", "text": "f\n\ng"}, {"type": "text", "text": "h"}]},
      {"role": "user", "content": "i"}, {"role": "assistant", "content": "j"}, {"role": "user", "content": "k"}])"));
}

TEST(ToolPrompt, LaterSystemMessagesFollowResultsOfTools) {
  const Json messages =
      Json::parse(R"([{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "1", "content": "noon"},
      {"role": "system", "content": "d"}, {"role": "user", "content": "e"}])");
  const Json out = spelled_out(messages, nullptr, {});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1]["content"], "<tool_response>\nnoon\n</tool_response>\n\nd\n\ne");
}

TEST(ToolPrompt, LeavesBadMessagesToWhoeverRefusesThem) {
  const Json messages =
      Json::parse(R"([1, {"role": "assistant", "tool_calls": 7}, {"role": "tool", "content": 1}, {}])");
  EXPECT_EQ(spelled_out(messages, nullptr, {}).size(), 4u);
}

}  // namespace
}  // namespace millrace::chat::tools
