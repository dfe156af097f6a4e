#include "grammar/testing/reference_matcher.h"

#include <gtest/gtest.h>

namespace millrace::grammar {
namespace {

TEST(ReferenceMatcher, TakesRecursionOnTheLeftAndThroughNothing) {
  Grammar g;
  const RuleId sum = g.declare("sum"), nothing = g.declare("nothing");
  g.define(nothing, g.choice({g.bytes(""), g.rule(sum)}));
  g.define(sum, g.choice({g.sequence({g.rule(nothing), g.rule(sum), g.bytes("+1")}), g.bytes("1")}));
  g.set_root(g.rule(sum));
  ReferenceMatcher matcher(g);
  EXPECT_TRUE(matcher.matches("1"));
  EXPECT_TRUE(matcher.matches("1+1+1"));
  EXPECT_TRUE(matcher.matches("11+1"));
  EXPECT_FALSE(matcher.matches("+1"));
  EXPECT_FALSE(matcher.matches("1+"));
}

TEST(ReferenceMatcher, CountsAndKnowsRulesThatAreNever) {
  Grammar g;
  const ExpressionId some = g.repeat(g.choice({g.bytes("ab"), g.bytes("a")}), 2, 3);
  g.set_root(g.choice({some, g.rule(g.declare("never"))}));
  ReferenceMatcher matcher(g);
  EXPECT_FALSE(matcher.matches("a"));
  EXPECT_TRUE(matcher.matches("aba"));
  EXPECT_TRUE(matcher.matches("ababab"));
  EXPECT_FALSE(matcher.matches("aaaa"));
}

TEST(ReferenceMatcher, ReadsTheSpellingsOfJsonStrings) {
  Grammar g;
  g.set_root(g.automaton(CharAutomaton::words({U"é\n", U"😀/"}), Spelling::kJsonString));
  ReferenceMatcher matcher(g);
  EXPECT_TRUE(matcher.matches("é\\n"));
  EXPECT_TRUE(matcher.matches("\\u00E9\\u000a"));
  EXPECT_TRUE(matcher.matches("😀\\/"));
  EXPECT_TRUE(matcher.matches("\\uD83d\\ude00/"));
  EXPECT_FALSE(matcher.matches("é\n"));
  EXPECT_FALSE(matcher.matches("\\ud83d/"));
}

TEST(ReferenceMatcher, KnowsWhatATextMayBegin) {
  Grammar g;
  const RuleId endless = g.declare("endless"), sum = g.declare("sum");
  g.define(endless, g.sequence({g.bytes("x"), g.rule(endless)}));
  g.define(sum, g.choice({g.sequence({g.rule(sum), g.bytes("+é")}), g.bytes("10"), g.rule(endless)}));
  g.set_root(g.sequence({g.rule(sum), g.choice({g.bytes("!"), g.rule(g.declare("never"))})}));
  ReferenceMatcher matcher(g);
  for (const char* text : {"", "1", "10", "10+", "10+\xC3", "10+é", "10+é+", "10!"})
    EXPECT_TRUE(matcher.begins(text)) << text;
  for (const char* text : {"x", "11", "10+\xC2", "10+\xC3!", "10!!", "+"}) EXPECT_FALSE(matcher.begins(text)) << text;
}

TEST(ReferenceMatcher, KnowsWhichCharactersAreBegun) {
  Grammar g;
  g.set_root(g.automaton(CharAutomaton::words({U"é\n", U"😀/"}), Spelling::kJsonString));
  ReferenceMatcher matcher(g);
  for (const char* text : {"\\", "\\u", "\\u00", "\\u00E", "\\u00e9\\", "\\uD8", "\\ud83d", "\\ud83d\\", "\\ud83d\\uDe",
                           "\xF0\x9F", "\xC3"}) {
    EXPECT_TRUE(matcher.begins(text)) << text;
  }
  for (const char* text : {"\\n", "\\u1", "\\u00F", "\\uDc", "\\ud83e", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\u0",
                           "\xF0\x9E", "\xC2", "a"}) {
    EXPECT_FALSE(matcher.begins(text)) << text;
  }
}

}  // namespace
}  // namespace millrace::grammar
