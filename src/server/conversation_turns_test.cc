#include "server/conversation_turns.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

const Json kTalk = Json::parse(R"([{"role": "system", "content": "s"}, {"role": "developer", "content": "d"},
    {"role": "user", "content": "1"}, {"role": "assistant", "content": null, "tool_calls": []}, {"role": "tool", "content": "r"},
    {"role": "system", "content": "mid"}, {"role": "user", "content": "2"}, {"role": "assistant", "content": "a"},
    {"role": "user", "content": "3"}])");

std::string contents(const Json& messages) {
  std::string out;
  for (const Json& message : messages)
    out += message["content"].is_string() ? message["content"].get<std::string>() : "-";
  return out;
}

TEST(ConversationTurns, BeginWithTheUser) {
  EXPECT_EQ(turns_of(kTalk), 3u);
  EXPECT_EQ(turns_of(Json::parse(R"([{"role": "system"}, 1, {}])")), 0u);
}

TEST(ConversationTurns, AreLeftOutWholeAndInstructionsStay) {
  EXPECT_EQ(contents(without_first_turns(kTalk, 0)), contents(kTalk));
  EXPECT_EQ(contents(without_first_turns(kTalk, 1)), "sd2a3");
  EXPECT_EQ(contents(without_first_turns(kTalk, 2)), "sd3");
}

TEST(ConversationTurns, WhatStandsBeforeTheFirstGoesWithIt) {
  const Json begun = Json::parse(
      R"([{"role": "assistant", "content": "a"}, {"role": "user", "content": "1"}, {"role": "user", "content": "2"}])");
  EXPECT_EQ(contents(without_first_turns(begun, 1)), "2");
}

}  // namespace
}  // namespace millrace::server
