#include "server/schema.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

struct Fields {
  std::int64_t depth = 0;
  std::string user;
};

Schema<Fields> schema() {
  Schema<Fields> s;
  s.object("outer", "An object")
      .integer(
          "outer.depth", [](Fields& f) -> auto& { return f.depth; }, 0, 9, "A member")
      .listed("outer.style", "of no use here", {{"enum", {"plain", "fancy"}}}, {"plain"})
      .listed("user", "of no use here", {{"type", "string"}, {"maxLength", 3}}, {},
              [](Fields& f, const Json& value) { f.user = value.get<std::string>(); })
      .rejected("edits", "nothing is edited", {Json::array(), {{"a", 1}, {"b", 2}}});
  s.required("outer.depth");
  return s;
}

struct Read {
  Fields fields;
  FieldNotes notes;
  std::string error, param;
  ErrorCode code{};
};

Read read(const char* body) {
  Read out;
  if (const auto done = schema().read(Json::parse(body), out.fields, out.notes); !done) {
    out.error = done.error().message;
    out.param = done.error().param;
    out.code = done.error().code;
  }
  return out;
}

using Names = std::vector<std::string>;

TEST(Schema, MembersOfAnObjectAreFields) {
  EXPECT_EQ(read(R"({"outer": {"depth": 3}})").fields.depth, 3);
  EXPECT_EQ(read(R"({"outer": {"depth": 10}})").param, "outer.depth");
  EXPECT_EQ(read(R"({"outer": 1})").error, "outer must be an object");
  EXPECT_EQ(read(R"({"outer": {}})").error, "outer.depth is required");
  EXPECT_EQ(read(R"({"outer": {"depth": null}})").error, "outer.depth is required");
  EXPECT_EQ(read(R"({"outer": null})").error, "");
  EXPECT_EQ(read(R"({})").error, "");
}

TEST(Schema, IntegersOf64BitsAreRead) {
  const auto whole = [](const char* text) { return Schema<Fields>::whole(Json::parse(text)); };
  EXPECT_EQ(whole("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole("9223372036854775808"), std::nullopt);
  EXPECT_EQ(whole("3.0"), 3);
  EXPECT_EQ(whole("3.5"), std::nullopt);
  EXPECT_EQ(whole("1e19"), std::nullopt);
}

TEST(Schema, WhatNobodyKnowsIsNotedAtAnyDepth) {
  const Read out = read(R"({"outer": {"depth": 1, "colour": 2}, "outer.depth": 5, "other": null})");
  EXPECT_EQ(out.notes.ignored, (Names{"outer.colour", "outer.depth", "other"}));
  EXPECT_EQ(out.notes.unknown, 3u);
  EXPECT_EQ(out.fields.depth, 1);
}

TEST(Schema, AListedFieldIsTakenAndNotedUnlessItAsksForNothing) {
  const Read out = read(R"({"outer": {"depth": 1, "style": "fancy"}, "user": "abc"})");
  EXPECT_EQ(out.notes.ignored, (Names{"outer.style", "user"}));
  EXPECT_EQ(out.notes.unknown, 0u);
  EXPECT_EQ(out.fields.user, "abc");
  EXPECT_TRUE(read(R"({"outer": {"depth": 1, "style": "plain"}, "user": null})").notes.ignored.empty());
  EXPECT_EQ(read(R"({"outer": {"depth": 1, "style": "loud"}})").code, ErrorCode::kUnsupported);
  EXPECT_EQ(read(R"({"outer": {"depth": 1, "style": 5}})").param, "outer.style");
  EXPECT_EQ(read(R"({"user": 5})").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read(R"({"user": "abcd"})").error, "user has 4 characters: the limit is 3");
}

TEST(Schema, ARefusedFieldTakesOnlyWhatAsksForNothing) {
  for (const char* body : {R"({"edits": []})", R"({"edits": {"b": 2, "a": 1}})", R"({"edits": null})"}) {
    EXPECT_EQ(read(body).error, "") << body;
    EXPECT_TRUE(read(body).notes.ignored.empty()) << body;
  }
  for (const char* body : {R"({"edits": {}})", R"({"edits": [1]})", R"({"edits": {"a": 1}})",
                           R"({"edits": {"a": 1, "b": 3}})", R"({"edits": false})", R"({"edits": ""})"}) {
    EXPECT_EQ(read(body).error, "edits is not supported: nothing is edited") << body;
    EXPECT_EQ(read(body).code, ErrorCode::kUnsupported) << body;
  }
}

TEST(Schema, TellsTheDocumentWhatIsNotDone) {
  const Json properties = schema().json()["properties"];
  EXPECT_EQ(properties["outer"]["required"], Json({"depth"}));
  EXPECT_EQ(properties["outer"]["properties"]["style"]["x-not-done"], "listed");
  EXPECT_EQ(properties["outer"]["properties"]["style"]["x-neutral"], Json::array({"plain"}));
  EXPECT_FALSE(properties["outer"]["properties"]["depth"].contains("x-not-done"));
  EXPECT_EQ(properties["edits"]["x-not-done"], "refused");
  EXPECT_EQ(properties["edits"]["enum"], Json::parse(R"([[], {"a": 1, "b": 2}, null])"));
}

}  // namespace
}  // namespace millrace::server
