#include "grammar/regex/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/regex/character_classes.h"
#include "grammar/testing/language_cases.h"

namespace millrace::grammar {
namespace {

struct Case {
  std::string pattern;
  std::vector<std::string> fits, fails;
};

// Asks the automaton and the expression.
void expect_regexes(const std::vector<Case>& cases, RegexMatch match) {
  for (const Case& one : cases) {
    WorkMeter meter;
    const auto automaton = regex_automaton(one.pattern, match, meter);
    ASSERT_TRUE(automaton.ok()) << one.pattern << ": " << automaton.error().message;
    Grammar grammar;
    const auto root = add_regex(grammar, one.pattern, match, meter);
    ASSERT_TRUE(root.ok()) << one.pattern;
    SCOPED_TRACE(one.pattern);
    grammar.set_root(*root);
    GrammarTester tester(grammar);
    const auto expect = [&](const std::string& text, bool fits) {
      EXPECT_EQ(automaton->matches(characters_of(text)), fits) << one.pattern << " automaton, on " << text;
      EXPECT_EQ(tester.fits(text), fits) << one.pattern << " expression, on " << text;
    };
    for (const std::string& text : one.fits) expect(text, true);
    for (const std::string& text : one.fails) expect(text, false);
  }
}

TEST(Regex, FitsTheWholeText) {
  expect_regexes({{"", {""}, {"a"}},
                  {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
                  {"a|bc|", {"a", "bc", ""}, {"abc", "b"}},
                  {"(a|b)*c+d?", {"c", "abac", "ccd"}, {"", "ab", "cdd", "d"}},
                  {"(a+)+b", {"ab", "aaaab"}, {"b", "aa"}},
                  {"a{2}b{1,}c{0,2}", {"aab", "aabbbcc"}, {"ab", "aa", "aabccc"}},
                  {"(?:ab){2,3}", {"abab", "ababab"}, {"ab", "abababab", "aba"}},
                  {"(?<year>\\d{4})-(?P<m>\\d\\d)", {"2024-01"}, {"2024-1", "\u0662024-01"}},
                  {"a*?b+?c??d{1,2}?", {"bd", "aabcdd"}, {"ac"}},
                  {"(a*|b)*", {"", "aab", "bb"}, {"c"}},
                  {"((a?){2}b){0,2}", {"", "b", "aab", "aabab"}, {"aaab", "bbb"}},
                  {"()*a", {"a"}, {"", "aa"}}},
                 RegexMatch::kWhole);
}

TEST(Regex, HasTheEndsOfTheTextWhereTheyStand) {
  expect_regexes({{"^a$", {"a"}, {"", "aa"}},
                  {"(^a|b$)", {"a", "b"}, {"ab", ""}},
                  {"a^b|c", {"c"}, {"ab", "a^b", "a", "b"}},
                  {"x*^a", {"a"}, {"xa", ""}},
                  {"\\Aa\\z|b\\Z", {"a", "b"}, {"ab"}},
                  {"^$", {""}, {"a", "\n"}},
                  {"a$\\n", {}, {"a", "a\n"}}},
                 RegexMatch::kWhole);
  expect_regexes({{"^a|b$", {"a", "axx", "xb", "b", "ab"}, {"", "xa", "bx", "xax"}},
                  {"^(a|b)$", {"a", "b"}, {"ab", "xa", ""}},
                  {"(^|,)a(,|$)", {"a", "x,a", "a,x", "x,a,x"}, {"xa", "ax", ""}},
                  {"^", {"", "abc"}, {}},
                  {"$^", {""}, {"a"}},
                  {"(^a)*b", {"b", "ab", "xb", "aab", "abx"}, {"", "a"}},
                  {"a$b?", {"a", "xa"}, {"ab", "xab", "b"}},
                  {"", {"", "a\nb"}, {}}},
                 RegexMatch::kSearch);
}

TEST(Regex, IsSoughtAnywhere) {
  expect_regexes({{"ab", {"ab", "xxab", "abyy", "a\naab\n"}, {"", "a", "ba", "a b"}},
                  {"a.c", {"xabcx", "a\u00e9c"}, {"a\nc", "ac", "a\u2028c"}},
                  {"[^x]", {"xxay", "\n"}, {"", "xx"}},
                  {"(foo|bar){2}", {"foobar!", " barbar"}, {"foo bar"}}},
                 RegexMatch::kSearch);
}

TEST(Regex, ReadsClassesAndEscapes) {
  expect_regexes(
      {{"[a-c\\d_-]+", {"abc019_-", "-"}, {"d", ""}},
       {"[^a-c\\s]", {"d", "\u00e9", "\U0001F600"}, {"a", " ", "\u00a0", "\ufeff", ""}},
       {"[\\]\\\\^-]+", {"]\\^-"}, {"[", "a"}},
       {"[|&.*+?(){}$]+", {"|&.*+?(){}$"}, {"a"}},
       {"\\w\\W\\d\\D\\s\\S", {"a-1x\n!", "_\u00e99 \u2029a"}, {"\u00e9-1x !", "a-1x!!"}},
       {"\\n\\t\\r\\f\\v\\a\\0", {std::string("\n\t\r\f\v\a\0", 7)}, {"n"}},
       {"\\x41\\u0042\\u{43}\\x{44}\\U00000045\\cA", {"ABCDE\x01"}, {}},
       {"\\uD83D\\uDE00", {"\U0001F600"}, {}},
       {"\\uD83Dx|y", {"y"}, {"x"}},
       {"[\\b]", {"\b"}, {"b"}},
       {"\\.\\*\\/\\-\\\"\\ \\\u00e9", {".*/-\" \u00e9"}, {}},
       {"\\p{Lu}\\p{L}\\P{L}\\pN", {"\u0410\u00e9!7"}, {"aaa7", "Aaa7"}},
       {"[\\p{Han}\\p{gc=Nd}]+", {"\u6f22\u0665"}, {"a"}},
       {"\\p{Script=Han}\\p{Uppercase_Letter}\\p{Any}\\p{ASCII}\\p{White_Space}", {"\u6f22A\u00e9a\u0085"}, {}},
       {".", {"a", "\U0010FFFF", "\u0085"}, {"\n", "\r", "\u2028", "\u2029", ""}},
       {"a{,b{1b{1,b}", {"a{,b{1b{1,b}"}, {}},
       {"a]b}", {"a]b}"}, {}}},
      RegexMatch::kWhole);
}

TEST(Regex, ReadsFlags) {
  expect_regexes({{"(?i)aB\u00e9[x-z]", {"Ab\u00c9Y", "aB\u00e9z", "AB\u00c9x"}, {"abeX"}},
                  {"(?i)k[^s]", {"K!", "\u212aa"}, {"ks", "kS"}},
                  {"(?i:a)b", {"ab", "Ab"}, {"aB"}},
                  {"(a(?i)b)c", {"abc", "aBc"}, {"aBC", "Abc"}},
                  {"(?s).(?-s:.)(?u).", {"\na\n"}, {"\n\n\n"}},
                  {"(?is)A.", {"a\n"}, {}}},
                 RegexMatch::kWhole);
}

std::string regex_rejection(const std::string& pattern, ErrorCode code = ErrorCode::kInvalidArgument) {
  WorkMeter meter;
  Grammar grammar;
  const auto made = add_regex(grammar, pattern, RegexMatch::kSearch, meter);
  if (made.ok()) return "accepted";
  EXPECT_EQ(made.error().code, code) << pattern;
  return made.error().message;
}

TEST(Regex, RefusesByNameWhatIsMalformed) {
  EXPECT_EQ(regex_rejection("\u00e9(a"), "the regex at position 1: the group is not closed");
  EXPECT_EQ(regex_rejection("a)"), "the regex at position 1: ')' closes no group");
  EXPECT_EQ(regex_rejection("foo**"), "the regex at position 4: there is nothing to repeat");
  EXPECT_EQ(regex_rejection("^+a"), "the regex at position 1: there is nothing to repeat");
  EXPECT_EQ(regex_rejection("a{2}{3}"), "the regex at position 4: there is nothing to repeat");
  EXPECT_EQ(regex_rejection("(|*)"), "the regex at position 2: there is nothing to repeat");
  EXPECT_EQ(regex_rejection("a{3,2}"), "the regex at position 1: the counts 3 and 2 are out of order");
  EXPECT_NE(regex_rejection("a{,2}").find("write {0,m}"), std::string::npos);
  EXPECT_EQ(regex_rejection("[a"), "the regex at position 0: the class is not closed");
  EXPECT_EQ(regex_rejection("[z-a]"), "the regex at position 1: the ends of the range are out of order");
  EXPECT_NE(regex_rejection("[\\d-z]").find("cannot be the end of a range"), std::string::npos);
  EXPECT_NE(regex_rejection("[]a]").find("an empty class"), std::string::npos);
  EXPECT_EQ(regex_rejection("\\"), "the regex at position 0: a backslash ends the pattern");
  EXPECT_EQ(regex_rejection("\\y"), "the regex at position 0: there is no escape \\y");
  EXPECT_NE(regex_rejection("\\u12").find("hexadecimal"), std::string::npos);
  EXPECT_NE(regex_rejection("\\u{110000}").find("hexadecimal"), std::string::npos);
  EXPECT_EQ(regex_rejection("\xff"), "the regex is not valid UTF-8");
  EXPECT_NE(regex_rejection("(?<a)").find("name of the group"), std::string::npos);
}

TEST(Regex, RefusesByNameWhatAGrammarCannotSay) {
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  for (const char* look : {"a(?=b)", "a(?!b)", "a(?<=b)", "a(?<!b)"}) {
    EXPECT_EQ(regex_rejection(look, kUnsupported), "the regex at position 1: look-around cannot be said in a grammar");
  }
  for (const char* back : {"(a)\\1", "(a)\\k<x>", "(a)(?P=x)"}) {
    EXPECT_EQ(regex_rejection(back, kUnsupported),
              "the regex at position 3: a back-reference cannot be said in a grammar");
  }
  EXPECT_NE(regex_rejection("\\bfoo", kUnsupported).find("word boundary"), std::string::npos);
  EXPECT_NE(regex_rejection("a++", kUnsupported).find("possessive"), std::string::npos);
  EXPECT_NE(regex_rejection("(?>a)", kUnsupported).find("atomic"), std::string::npos);
  EXPECT_NE(regex_rejection("(?m)a", kUnsupported).find("flags i, s and u"), std::string::npos);
  EXPECT_NE(regex_rejection("\\p{Greek}", kUnsupported).find("\"Greek\""), std::string::npos);
  EXPECT_NE(regex_rejection("[[:alpha:]]", kUnsupported).find("POSIX"), std::string::npos);
}

TEST(Regex, RefusesWhatIsTooMuch) {
  constexpr auto kTooMuch = ErrorCode::kResourceExhausted;
  EXPECT_EQ(regex_rejection(std::string(60'000, '('), kTooMuch),
            "the regex at position 64: groups are nested deeper than 64");
  EXPECT_NE(regex_rejection("a{0,1000000000}", kTooMuch).find("larger than 100000"), std::string::npos);
  EXPECT_NE(regex_rejection("a{99999999999999999999999}", kTooMuch).find("larger than 100000"), std::string::npos);
  for (const char* pattern : {"((a{1000}){1000}){1000}", "a.{30}", "(){100000}{", "(\\p{L}{9000}){9000}"}) {
    WorkMeter meter;
    const auto made = regex_automaton(pattern, RegexMatch::kSearch, meter);
    if (std::string_view(pattern) == "(){100000}{") {
      EXPECT_TRUE(made.ok());
    } else {
      ASSERT_FALSE(made.ok()) << pattern;
      EXPECT_EQ(made.error().code, kTooMuch);
    }
  }
}

TEST(Regex, StaysSmallAsAnExpression) {
  WorkMeter meter;
  Grammar grammar;
  ASSERT_TRUE(add_regex(grammar, "(a{1000}){1000}", RegexMatch::kWhole, meter).ok());
  EXPECT_EQ(grammar.size(), 3u);
  ASSERT_TRUE(add_regex(grammar, "hello world", RegexMatch::kWhole, meter).ok());
  EXPECT_EQ(grammar.size(), 4u);  // one literal
}

}  // namespace
}  // namespace millrace::grammar
