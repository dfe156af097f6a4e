#include "loadtest/watch/served_model.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "loadtest/testing/scripted_server.h"

namespace millrace::loadtest {
namespace {

using Pages = std::map<std::string, std::string>;  // path -> JSON; others: status 404

Result<ServedModel> served(const Pages& pages, std::string_view wanted = "", const std::string& base = "") {
  ScriptedServer server(ScriptedServer::each([&](Peer& peer, const std::string& request) {
    const std::size_t path = request.find(' ') + 1;
    const auto it = pages.find(request.substr(path, request.find(' ', path) - path));
    const std::string body = it == pages.end() ? "" : it->second;
    peer.write(fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}",
                           it == pages.end() ? "404 Not Found" : "200 OK", body.size(), body));
  }));
  Getter getter(parse_target("url", server.url() + base).or_throw());
  return read_served_model(getter, wanted);
}

TEST(ServedModel, OfMillraceSaysItAll) {
  const ServedModel model = served({{"/v1/models", R"({"object": "list", "data": [{"id": "smol", "max_model_len": 2048,
      "meta": {"n_vocab": 49152, "n_params": 135000000, "size": 91000000, "kv_bytes_per_token": 46080}}]})"}})
                                .or_throw();
  EXPECT_EQ(model.id, "smol");
  EXPECT_EQ(model.vocabulary, 49152);
  EXPECT_EQ(model.parameters, 135000000);
  EXPECT_EQ(model.weight_bytes, 91000000);
  EXPECT_EQ(model.kv_bytes_per_token, 46080);
  EXPECT_EQ(model.max_length, 2048);
}

TEST(ServedModel, OfVllmGetsItsVocabularyFromTheTokenizer) {
  const ServedModel model =
      served({{"/v1/models", R"({"data": [{"id": "m", "root": "m", "parent": null, "max_model_len": 4096}]})"},
              {"/tokenizer_info", R"({"tokenizer_class": "X", "vocab_size": 32000})"}})
          .or_throw();
  EXPECT_EQ(model.vocabulary, 32000);
  EXPECT_EQ(model.max_length, 4096);
  EXPECT_EQ(model.weight_bytes, 0);
}

TEST(ServedModel, NamesTheServersThatItKnows) {
  const auto model = [](const char* owner) {
    return served({{"/v1/models", fmt::format(R"({{"data": [{{"id": "m", "owned_by": {}}}]}})", owner)},
                   {"/version", R"({"version": "0.11.0"})"}})
        .or_throw();
  };
  EXPECT_EQ(model(R"("millrace")").server, "millrace");
  EXPECT_EQ(model(R"("library")").server, "ollama");
  EXPECT_EQ(model(R"("vllm")").version, "0.11.0");
  EXPECT_EQ(model(R"("an organisation")").server, "");
  EXPECT_EQ(model("7").server, "");
}

TEST(ServedModel, NumbersThatPythonWroteDoNotHideTheModel) {
  const ServedModel model =
      served({{"/v1/models",
               R"({"data": [{"id": "m", "score": NaN, "limit": 1e400, "created": 1000000000000000019884624838656,
                  "note": "\ud800", "max_model_len": 4096}]})"}})
          .or_throw();
  EXPECT_EQ(model.id, "m");
  EXPECT_EQ(model.max_length, 4096);
}

TEST(ServedModel, WhatAServerDoesNotSayIsZero) {
  for (const char* card :
       {R"({"id": "m"})", R"({"id": "m", "meta": null, "max_model_len": null})",
        R"({"id": "m", "meta": [1], "max_model_len": "many"})",
        R"({"id": "m", "meta": {"n_vocab": -3, "n_params": 2.5, "size": 1e300}, "max_model_len": -1})"}) {
    const ServedModel model =
        served({{"/v1/models", fmt::format(R"({{"data": [{}]}})", card)}, {"/tokenizer_info", "<html>"}}).or_throw();
    EXPECT_EQ(model.id, "m");
    EXPECT_EQ(model.vocabulary, 0) << card;
    EXPECT_EQ(model.parameters, 0);
    EXPECT_EQ(model.weight_bytes, 0) << card;
    EXPECT_EQ(model.max_length, 0) << card;
  }
}

TEST(ServedModel, IsTheOneThatIsWantedOrTheFirst) {
  const Pages pages = {{"/v1/models", R"({"data": [7, {"id": 7}, {"id": "a", "meta": {"n_vocab": 1}},
                                                    {"id": "b", "meta": {"n_vocab": 2}}]})"}};
  EXPECT_EQ(served(pages).or_throw().vocabulary, 1);
  EXPECT_EQ(served(pages, "a").or_throw().vocabulary, 1);
  EXPECT_EQ(served(pages, "b").or_throw().vocabulary, 2);
  const auto none = served(pages, "c");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().param, "model");
  EXPECT_EQ(none.error().message, "model: 'c' is none of those served: a, b");
}

TEST(ServedModel, IsAskedForBelowTheBaseOfTheUrl) {
  const Pages pages = {{"/proxy/v1/models", R"({"data": [{"id": "m"}]})"}};
  EXPECT_EQ(served(pages, "", "/proxy/v1").or_throw().id, "m");
  EXPECT_FALSE(served(pages));
}

TEST(ServedModel, AServerWithoutAListOfModelsIsToldOf) {
  for (const char* text : {"", "<html>", "[]", "{}", R"({"data": {"id": "m"}})", R"({"data": null})"}) {
    const auto model = served({{"/v1/models", text}});
    ASSERT_FALSE(model) << text;
    EXPECT_EQ(model.error().code, ErrorCode::kNotFound);
    EXPECT_NE(model.error().message.find("no list of models"), std::string::npos) << model.error().message;
  }
  const auto empty = served({{"/v1/models", R"({"data": []})"}});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kNotFound);
  const auto missing = served({});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("404"), std::string::npos) << missing.error().message;
}

}  // namespace
}  // namespace millrace::loadtest
