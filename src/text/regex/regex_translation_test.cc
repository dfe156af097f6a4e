#include "text/regex/regex_translation.h"

#include <gtest/gtest.h>

#include "text/pre_tokenizer.h"
#include "unicode/code_point_set.h"

namespace millrace::text {
namespace {

// What the expression matches in `text`, as words.
std::vector<std::string> matches(std::string_view regex, std::string_view text) {
  std::string why;
  const auto splitter = make_regex_splitter(regex, SplitBehavior::kRemoved, true, why);
  if (!splitter) return {"refused: " + why};
  std::vector<Word> words;
  splitter->split(text, {0, text.size()}, words);
  std::vector<std::string> out;
  for (const Word& word : words) out.emplace_back(text.substr(word.begin, word.end - word.begin));
  return out;
}

using Words = std::vector<std::string>;

TEST(RegexTranslation, WorksOutClassesWithinClassesAndIntersections) {
  EXPECT_EQ(matches("[a-f&&[^b-d]]+", "abcdef"), (Words{"a", "ef"}));
  EXPECT_EQ(matches("[ab[xy]]+", "abxyz["), (Words{"abxy"}));
  EXPECT_EQ(matches(R"([\p{Lu}[0-9]&&[^B]]+)", "AB1c"), (Words{"A", "1"}));
  EXPECT_EQ(matches("[^a[bc]]+", "abcd]"), (Words{"d]"}));
}

TEST(RegexTranslation, GivesPropertiesTheCodePointsOfTheNewerUnicode) {
  const std::string garay = "\xf0\x90\xb5\x8a";  // U+10D4A, a letter since Unicode 16
  EXPECT_EQ(matches(R"(\p{L}+)", "a" + garay + "1"), (Words{"a" + garay}));
  EXPECT_EQ(matches(R"([^\p{L}]+)", garay + "1"), (Words{"1"}));
  EXPECT_EQ(matches(R"(\P{L}+)", garay + "1"), (Words{"1"}));
}

TEST(RegexTranslation, KnowsOnigurumasShorthands) {
  EXPECT_EQ(matches(R"(\h+)", "x1fG"), (Words{"1f"}));
  EXPECT_EQ(matches(R"(\bab\b)", "ab abc ab"), (Words{"ab", "ab"}));
  EXPECT_EQ(matches(R"(1\b)", "1\xc2\xb2 1"), (Words{"1"}));  // U+00B2 is of \w, as all of Latin-1's numbers
  EXPECT_EQ(matches(R"([\w-]+)", "a\xcc\x81-b c"), (Words{"a\xcc\x81-b", "c"}));
}

TEST(RegexTranslation, RefusesByNameWhatItCannotTranslate) {
  EXPECT_EQ(matches(R"(\X)", "a"), (Words{"refused: it uses \\X"}));
  EXPECT_EQ(matches("[a[:alpha:]]", "a")[0].substr(0, 8), "refused:");
  EXPECT_EQ(matches(R"([\w&&[a]])", "a")[0].substr(0, 8), "refused:");
  EXPECT_EQ(matches(std::string(40, '[') + "a" + std::string(40, ']'), "a")[0].substr(0, 8), "refused:");
  EXPECT_EQ(matches("[a[b]", "a")[0].substr(0, 8), "refused:");
}

TEST(CodePointSet, IsItsComplementsComplement) {
  unicode::CodePointSet set;
  set.add('a', 'f');
  set.add('d', 'k');
  set.add(0x10FFFF, 0x10FFFF);
  const auto same = set.complement().complement();
  ASSERT_EQ(same.ranges().size(), 2u);
  EXPECT_EQ(same.ranges()[0].last, U'k');
  EXPECT_TRUE(set.intersection(set.complement()).ranges().empty());
}

}  // namespace
}  // namespace millrace::text
