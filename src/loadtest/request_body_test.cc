#include "loadtest/request_body.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::loadtest {
namespace {

using Json = nlohmann::json;

const RequestStyle kText{}, kChat{.endpoint = RequestStyle::Endpoint::kChat};

Json parsed(const std::string& text) { return Json::parse(text); }

TEST(RequestBody, IsACompletionOfIds) {
  EXPECT_EQ(kText.path(), "/v1/completions");
  EXPECT_EQ(request_body(kText, {}, {.ids = {5, 0, 123456}, .output_tokens = 7}),
            R"({"prompt":[5,0,123456],"max_tokens":7,"temperature":0,"ignore_eos":true,"stream":true,)"
            R"("stream_options":{"include_usage":true}})");
}

TEST(RequestBody, AppendsIdsToThoseOfEarlierTurnsWithoutTheirAnswers) {
  const std::vector<Exchange> before = {{{.ids = {1, 2}}, "one"}, {{.ids = {3}}, "two"}};
  EXPECT_EQ(parsed(request_body(kText, before, {.ids = {4}}))["prompt"], Json({1, 2, 3, 4}));
}

TEST(RequestBody, AppendsTextToWhatWasSaidAndAnswered) {
  const std::vector<Exchange> before = {{{.text = "a"}, " b\n"}, {{.text = "\"c\""}, ""}};
  EXPECT_EQ(parsed(request_body(kText, before, {.text = "d"}))["prompt"], "a b\n\"c\"d");
}

TEST(RequestBody, ListsAChatAsMessages) {
  EXPECT_EQ(kChat.path(), "/v1/chat/completions");
  const Json body = parsed(request_body(kChat, {{{.text = "hi"}, "hello \xff"}}, {.text = "more\t"}));
  EXPECT_EQ(body["messages"],
            Json::parse(R"([{"role":"user","content":"hi"},{"role":"assistant","content":"hello \ufffd"},
                                              {"role":"user","content":"more\t"}])"));
  EXPECT_FALSE(body.contains("prompt"));
}

TEST(RequestBody, AsksTheTurnsModelAndSaysWhatTheStyleAndTheTurnAdd) {
  RequestStyle style{.model = "base", .ignore_eos = false, .temperature = 0.5, .extra = R"("top_k":5)"};
  Json body = parsed(request_body(style, {}, {.text = "x", .model = "ada\"pter", .fields = R"("user":"7")"}));
  EXPECT_EQ(body["model"], "ada\"pter");
  EXPECT_EQ(body["user"], "7");
  EXPECT_EQ(body["top_k"], 5);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_FALSE(body.contains("ignore_eos"));
  style.temperature = -1.0;
  body = parsed(request_body(style, {}, {.text = "x"}));
  EXPECT_EQ(body["model"], "base");
  EXPECT_FALSE(body.contains("temperature"));
}

}  // namespace
}  // namespace millrace::loadtest
