#include "chat/chat_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "chat/chat_role.h"

namespace millrace::chat {
namespace {

using Json = nlohmann::ordered_json;

// What most templates of today can do.
TemplateCapabilities modern() {
  TemplateCapabilities capabilities;
  capabilities.content_strings = capabilities.system_role = capabilities.tools = true;
  capabilities.null_content = capabilities.empty_content = true;
  capabilities.tool_arguments = ToolArguments::kObject;
  return capabilities;
}

Json variables(const char* request, const TemplateCapabilities& capabilities = modern()) {
  const auto out = chat_variables(Json::parse(request), capabilities);
  return out ? *out : Json("error: " + out.error().message);
}

Json first_message(const char* message, const TemplateCapabilities& capabilities = modern()) {
  const auto out = chat_variables({{"messages", Json::array({Json::parse(message)})}}, capabilities);
  return out ? (*out)["messages"][0] : Json("error: " + out.error().message);
}

std::string rejection(const Json& request, const TemplateCapabilities& capabilities = modern()) {
  const auto out = chat_variables(request, capabilities);
  if (out) return "";
  EXPECT_EQ(out.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(out.error().message.starts_with(out.error().param)) << out.error().message;
  return out.error().message;
}

std::string rejection(const char* request) { return rejection(Json::parse(request)); }

TEST(ChatRequest, DefinesWhatTransformersDefines) {
  EXPECT_EQ(variables(R"({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})"),
            Json::parse(R"({"messages": [{"role": "user", "content": "Hi"}], "tools": null, "documents": null,
                            "add_generation_prompt": true})"));
}

TEST(ChatRequest, JoinsPartsWhereTheTemplateTakesStringsOnly) {
  constexpr const char* kMessage =
      R"({"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}, {"type": "text", "text": "b"}]})";
  EXPECT_EQ(first_message(kMessage)["content"], "a\nb");
  TemplateCapabilities capabilities = modern();
  capabilities.content_parts = true;
  EXPECT_EQ(first_message(kMessage, capabilities)["content"],
            Json::parse(R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])"));
}

TEST(ChatRequest, MakesPartsOfStringsWhereTheTemplateTakesPartsOnly) {
  TemplateCapabilities capabilities = modern();
  capabilities.content_parts = true;
  capabilities.content_strings = false;
  EXPECT_EQ(first_message(R"({"role": "user", "content": "a"})", capabilities)["content"],
            Json::parse(R"([{"type": "text", "text": "a"}])"));
  EXPECT_EQ(first_message(R"({"role": "assistant"})", capabilities)["content"], Json::array());
}

TEST(ChatRequest, RefusesMediaByField) {
  EXPECT_EQ(rejection(R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"},
                        {"role": "user", "content": [{"type": "text", "text": "t"}, {"type": "image_url"}]}]})"),
            "messages[2].content[1].type is \"image_url\"; this model takes text only");
  for (const char* type : {"input_audio", "video", "file", "image"}) {
    const Json part = {{"type", type}};
    EXPECT_NE(rejection({{"messages", Json::array({{{"role", "user"}, {"content", Json::array({part})}}})}})
                  .find("text only"),
              std::string::npos)
        << type;
  }
  EXPECT_EQ(rejection(R"({"messages": [{"role": "user", "content": [{"type": "hologram"}]}]})"),
            "messages[0].content[0].type is \"hologram\"; expected \"text\"");
}

TEST(ChatRequest, RefusesMalformedMessagesByField) {
  EXPECT_EQ(rejection("{}"), "messages is missing or empty; at least one message is needed");
  EXPECT_EQ(rejection(R"({"messages": []})"), "messages is missing or empty; at least one message is needed");
  EXPECT_EQ(rejection(R"({"messages": "Hi"})"), "messages must be a list, not string");
  EXPECT_EQ(rejection(R"({"messages": ["Hi"]})"), "messages[0] must be an object, not string");
  EXPECT_EQ(rejection(R"({"messages": [{"content": "Hi"}]})"), "messages[0].role is missing");
  EXPECT_EQ(rejection(R"({"messages": [{"role": 1, "content": "Hi"}]})"),
            "messages[0].role must be a string, not number");
  EXPECT_EQ(rejection(R"({"messages": [{"role": "wizard\n\u0416", "content": "Hi"}]})"),
            "messages[0].role is \"wizard\\n\\u0416\"; expected one of " + chat_role_list());
  EXPECT_EQ(rejection(R"({"messages": [{"role": "user"}]})"),
            "messages[0].content is missing; expected a string or a list of parts");
  EXPECT_EQ(rejection(R"({"messages": [{"role": "user", "content": 5}]})"),
            "messages[0].content must be a string or a list of parts, not number");
  EXPECT_EQ(rejection(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]})"),
            "messages[0].content[0].text must be a string, not number");
  EXPECT_EQ(rejection(R"({"messages": [{"role": "tool", "content": "", "tool_call_id": 7}]})"),
            "messages[0].tool_call_id must be a string, not number");
  EXPECT_EQ(rejection(Json::array()), "body must be an object, not array");
}

TEST(ChatRequest, RefusesWhatExceedsALimit) {
  const Json message = {{"role", "user"}, {"content", "x"}};
  EXPECT_EQ(rejection({{"messages", Json(2049, message)}}), "messages has 2049 entries; at most 2048 are allowed");
  EXPECT_EQ(rejection({{"messages", Json(2048, message)}}), "");
  EXPECT_EQ(rejection({{"messages", Json::array({message})}, {"tools", Json(129, Json::object())}}),
            "tools has 129 entries; at most 128 are allowed");
  const Json part = {{"type", "text"}, {"text", "x"}};
  EXPECT_EQ(rejection({{"messages", Json::array({{{"role", "user"}, {"content", Json(1025, part)}}})}}),
            "messages[0].content has 1025 parts; at most 1024 are allowed");
  Json deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = Json::array({std::move(deep)});
  Json extra = message;
  extra["x"] = std::move(deep);
  Json request = {{"messages", Json::array()}};
  request["messages"].push_back(std::move(extra));
  EXPECT_EQ(rejection(request), "messages[0] is nested more than 48 levels deep");
}

TEST(ChatRequest, JoinsTextAndReasoningBesideCallsWhereTheTemplateTakesEither) {
  constexpr const char* kMessage =
      R"({"role": "assistant", "content": "I look.", "reasoning_content": "Hm.",
          "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}]})";
  EXPECT_EQ(first_message(kMessage)["content"], "I look.");
  EXPECT_EQ(first_message(kMessage)["thinking"], "Hm.");
  TemplateCapabilities either = modern();
  either.text_and_reasoning = false;
  EXPECT_EQ(first_message(kMessage, either)["content"], nullptr);
  EXPECT_EQ(first_message(kMessage, either)["thinking"], "Hm.\n\nI look.");
  EXPECT_EQ(first_message(R"({"role": "assistant", "content": "I look.", "thinking": "Hm."})", either)["content"],
            "I look.");
}

TEST(ChatRequest, SendsDeveloperAsSystemWhereItIsNotKnown) {
  EXPECT_EQ(first_message(R"({"role": "developer", "content": "x"})")["role"], "system");
  TemplateCapabilities capabilities = modern();
  capabilities.developer_role = true;
  EXPECT_EQ(first_message(R"({"role": "developer", "content": "x"})", capabilities)["role"], "developer");
}

constexpr const char* kCall =
    R"({"role": "assistant", "content": null, "refusal": null,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1.0, \"b\":\"x\"}"}}]})";

TEST(ChatRequest, GivesArgumentsAsTheTemplateTakesThem) {
  TemplateCapabilities capabilities = modern();
  const auto arguments = [&](const Json& given) {
    Json message = Json::parse(kCall);
    message["tool_calls"][0]["function"]["arguments"] = given;
    const auto out = chat_variables({{"messages", Json::array({message})}}, capabilities);
    return out ? (*out)["messages"][0]["tool_calls"][0]["function"]["arguments"] : Json(out.error().message);
  };
  const Json object = {{"a", 1.0}, {"b", "x"}};
  EXPECT_EQ(arguments(R"({"a": 1.0, "b":"x"})"), object);
  EXPECT_EQ(arguments(object), object);
  EXPECT_EQ(arguments(""), Json::object());
  EXPECT_EQ(arguments(nullptr), Json::object());
  EXPECT_EQ(
      arguments("[1]"),
      "messages[0].tool_calls[0].function.arguments is not the text of a JSON object, which this model's template "
      "needs");
  EXPECT_EQ(arguments("{"), arguments("[1]"));
  EXPECT_EQ(arguments(5), "messages[0].tool_calls[0].function.arguments must be a string or an object, not number");
  EXPECT_EQ(arguments(std::string(100'000, '[')),
            "messages[0].tool_calls[0].function.arguments is nested more than 40 levels deep");
  capabilities.tool_arguments = ToolArguments::kString;
  EXPECT_EQ(arguments(object), R"({"a": 1.0, "b": "x"})");
  EXPECT_EQ(arguments("not json"), "not json");
  EXPECT_EQ(arguments(nullptr), "{}");
  capabilities.tool_arguments = ToolArguments::kEither;
  EXPECT_EQ(arguments(R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(arguments(object), object);
}

TEST(ChatRequest, GivesTheMissingContentOfToolCallsAsTheTemplateTakesIt) {
  TemplateCapabilities capabilities = modern();
  EXPECT_EQ(first_message(kCall, capabilities)["content"], nullptr);
  EXPECT_FALSE(first_message(kCall, capabilities).contains("refusal"));
  capabilities.null_content = false;
  EXPECT_EQ(first_message(kCall, capabilities)["content"], "");
  capabilities.null_content = true;
  capabilities.empty_content = false;
  Json empty = Json::parse(kCall);
  empty["content"] = "";
  EXPECT_EQ(first_message(empty.dump().c_str(), capabilities)["content"], nullptr);
  EXPECT_EQ(first_message(R"({"role": "assistant", "content": null, "tool_calls": []})", capabilities),
            Json::parse(R"({"role": "assistant", "content": ""})"));
}

TEST(ChatRequest, FillsBothNamesOfTheReasoning) {
  EXPECT_EQ(first_message(R"({"role": "assistant", "content": "x", "reasoning": "r"})"),
            Json::parse(R"({"role": "assistant", "content": "x", "reasoning": "r", "thinking": "r",
                            "reasoning_content": "r"})"));
  EXPECT_EQ(rejection(R"({"messages": [{"role": "assistant", "content": "x", "reasoning_content": []}]})"),
            "messages[0].reasoning_content must be a string, not array");
}

TEST(ChatRequest, RefusesMalformedToolsByField) {
  const auto tool = [](const char* json) {
    return rejection({{"messages", Json::array({{{"role", "user"}, {"content", "x"}}})},
                      {"tools", Json::array({Json::parse(json)})}});
  };
  EXPECT_EQ(tool("{}"), "tools[0].type must be \"function\"");
  EXPECT_EQ(tool(R"({"type": "function"})"), "tools[0].function must be an object");
  EXPECT_EQ(tool(R"({"type": "function", "function": {"name": ""}})"),
            "tools[0].function.name must be a string that is not empty");
  EXPECT_EQ(tool(R"({"type": "function", "function": {"name": "f", "parameters": []}})"),
            "tools[0].function.parameters must be a JSON schema, not array");
  EXPECT_EQ(tool(R"({"type": "function", "function": {"name": "f"}})"), "");
  EXPECT_EQ(tool("3"), "tools[0] must be an object, not number");
}

TEST(ChatRequest, Row16TakesScalarKwargsOfFreeNamesOnly) {
  const auto kwargs = [](const char* json) {
    return rejection({{"messages", Json::array({{{"role", "user"}, {"content", "x"}}})},
                      {"chat_template_kwargs", Json::parse(json)}});
  };
  EXPECT_EQ(kwargs(R"({"enable_thinking": false, "reasoning_effort": "low", "n": 1.5, "x": null})"), "");
  for (const char* name : {"messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token",
                           "chat_template", "tokenize", "raise_exception", "namespace"}) {
    EXPECT_EQ(kwargs(Json({{name, "x"}}).dump().c_str()),
              std::string("chat_template_kwargs.") + name + " is a reserved name");
  }
  EXPECT_EQ(kwargs(R"({"x": []})"), "chat_template_kwargs.x must be a string, number, boolean or null, not array");
  EXPECT_EQ(kwargs(R"({"a b": 1})"), "chat_template_kwargs has the name \"a b\"; expected an identifier");
  EXPECT_EQ(kwargs(Json({{"x", std::string(5000, 'x')}}).dump().c_str()),
            "chat_template_kwargs.x is longer than 4096 bytes");
  EXPECT_EQ(kwargs("[]"), "chat_template_kwargs must be an object, not array");
  EXPECT_EQ(rejection(R"({"messages": [{"role": "user", "content": "x"}], "chat_template": "{{ x }}"})"),
            "chat_template cannot be brought by a request");
}

TEST(ChatRequest, PassesKwargsOn) {
  const Json out = variables(R"({"messages": [{"role": "user", "content": "x"}], "add_generation_prompt": false,
                                 "chat_template_kwargs": {"enable_thinking": false}, "documents": [{"text": "d"}]})");
  EXPECT_EQ(out["enable_thinking"], false);
  EXPECT_EQ(out["add_generation_prompt"], false);
  EXPECT_EQ(out["documents"][0]["text"], "d");
}

}  // namespace
}  // namespace millrace::chat
