// Needles in haystacks: how the text is made.

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "engine/load/needle_prompt.h"

namespace millrace::engine::load {
namespace {

// A token a word; the needle's number is token 1.
std::vector<std::int32_t> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::int32_t> tokens;
  for (std::string word; in >> word;) tokens.push_back(word.starts_with("12345") ? 1 : 2);
  return tokens;
}

double depth_of_needle(const std::vector<std::int32_t>& prompt) {
  const auto at = std::ranges::find(prompt, 1) - prompt.begin();
  return static_cast<double>(at) / static_cast<double>(prompt.size());
}

TEST(Needle, PromptsAreAsLongAsAskedAndNoLonger) {
  for (const std::int64_t length : {96, 100, 777, 4096}) {
    for (const int depth : {0, 50, 100}) {
      const auto prompt = needle_prompt(words, length, depth, "12345").or_throw();
      EXPECT_LE(std::ssize(prompt) + kNeedleAnswerTokens, length);
      EXPECT_GT(std::ssize(prompt) + kNeedleAnswerTokens, length - 5);  // the next sentence has up to four words
    }
  }
}

TEST(Needle, LiesAtItsDepth) {
  for (const int depth : {0, 25, 50, 75, 100}) {
    const auto prompt = needle_prompt(words, 4000, depth, "12345").or_throw();
    EXPECT_EQ(std::ranges::count(prompt, 1), 2);  // it is said twice
    EXPECT_NEAR(depth_of_needle(prompt), depth / 100.0, 0.015) << depth;
  }
  // Nothing but the filler moves: texts are the same up to the lesser depth.
  const std::string near = needle_text(40, 25, "12345"), far = needle_text(40, 75, "12345");
  EXPECT_EQ(near.substr(0, near.find("The special number is")), far.substr(0, near.find("The special number is")));
}

TEST(Needle, WithoutRoomForTheQuestionIsAnError) {
  const auto shortest = words(needle_text(0, 50, "12345"));
  const std::int64_t taken = std::ssize(shortest) + kNeedleAnswerTokens;
  EXPECT_EQ(needle_prompt(words, taken, 50, "12345").or_throw(), shortest);
  const auto none = needle_prompt(words, taken - 1, 50, "12345");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().param, "needle-lengths");
}

TEST(Needle, NumbersHaveFiveDigitsAndDependOnAllArguments) {
  std::set<std::string> numbers;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    for (std::int64_t trial = 0; trial < 20; ++trial) {
      for (const int depth : {0, 50}) {
        const std::string number = needle_number(seed, trial, depth);
        EXPECT_EQ(number.size(), 5u);
        EXPECT_EQ(number, needle_number(seed, trial, depth));
        numbers.insert(number);
      }
    }
  }
  EXPECT_GE(numbers.size(), 118u);
}

}  // namespace
}  // namespace millrace::engine::load
