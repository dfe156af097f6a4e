#include "grammar/testing/language_cases.h"

namespace millrace::grammar {
namespace {

TEST(Gbnf, FitsWhatItsRulesSay) {
  expect_cases(
      "gbnf",
      {{"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "yesno", "y"}},
       {"root ::= [a-c]+ [^a-c\\n] \"!\"?", {"abx", "aa!", "c!!", "b\u00e9!"}, {"x", "ab", "a\n", "abx!!"}},
       {"root ::= item{2} item{1,} item{0,2} other{3}\nitem ::= \"i\"\nother ::= \"o\"",
        {"iiiooo", "iiiiiiiooo"},
        {"iiooo", "iiioo"}},
       {"root ::= (\"a\" (\"b\" | \"c\")*)+ # a comment\n# another\n", {"a", "abca", "aaa"}, {"", "b"}},
       {"root ::= . . .", {"abc", "\n\u00e9\U0001F600"}, {"ab", "abcd"}},
       {"root ::= \"\\x41\\u00e9\\U0001F600\\n\\t\\\"\\\\\\[\\]\"", {"A\u00e9\U0001F600\n\t\"\\[]"}, {}},
       {"root ::= [\\x41-\\x43\\]\\-_-] | [\\u4e00-\\u9fff]", {"A", "C", "]", "-", "_", "\u6f22"}, {"D", "\\"}},
       {"root ::= \"a\" | \"b\"\n  \"c\" |\n  \"d\"\n  | e\ne ::=\n  \"e\" | ", {"a", "bc", "d", "e", ""}, {"b", "c"}},
       {"root ::= <|tool|> \"x\"", {"<|tool|>x"}, {"x"}},
       {"root ::= \"\"", {""}, {"a"}},
       {"root::=\"a\"b\nb::=\"b\"", {"ab"}, {"a"}},
       {"\r\nroot ::= \"a\"\r\n", {"a"}, {}}});
}

TEST(Gbnf, MayBeRecursive) {
  expect_cases("gbnf", {{"root ::= \"(\" root \")\" | \"\"", {"", "(())"}, {"(", "(()", "()()"}},
                        {"root ::= root \"+\" t | t\nt ::= [0-9]", {"1", "1+2+3"}, {"", "1+", "+1"}},
                        {"root ::= a\na ::= b \"x\" | \"x\"\nb ::= a \"y\"", {"x", "xyx", "xyxyx"}, {"xy"}}});
}

TEST(Gbnf, NamesTheLineOfWhatIsWrong) {
  const auto rejected = [](const std::string& source) { return rejection("gbnf", source); };
  EXPECT_EQ(rejected("root ::= \"a\"\n\nb ::= c"), "line 3: the rule \"c\" is not defined");
  EXPECT_EQ(rejected("root ::= \"a\"\nroot ::= \"b\""), "line 2: the rule \"root\" is defined in line 1 already");
  EXPECT_EQ(rejected("a ::= \"a\""), "line 1: there is no rule \"root\", with which the text begins");
  EXPECT_EQ(rejected(""), "line 1: there is no rule \"root\", with which the text begins");
  EXPECT_EQ(rejected("root = \"a\""), "line 1: expected a rule: name ::= ...");
  EXPECT_EQ(rejected("root ::= \"a\n\""), "line 1: a string is not closed");
  EXPECT_EQ(rejected("root ::= [a"), "line 1: a class is not closed");
  EXPECT_EQ(rejected("root ::= []"), "line 1: a class is empty: write \\] for a bracket");
  EXPECT_EQ(rejected("root ::= [z-a]"), "line 1: the ends of a range are out of order");
  EXPECT_EQ(rejected("root ::=\n (\"a\""), "line 2: the group is not closed");
  EXPECT_EQ(rejected("root ::= \"a\")"), "line 1: expected a rule: name ::= ...");
  EXPECT_EQ(rejected("root ::= \u00e9"), "line 1: unexpected '\u00e9'");
  EXPECT_EQ(rejected("root ::= \"a\"**"), "line 1: unexpected '*'");
  EXPECT_EQ(rejected("root ::= \"a\"{2,1}"), "line 1: the counts 2 and 1 are out of order");
  EXPECT_EQ(rejected("root ::= \"a\"{b}"), "line 1: expected a count: {n}, {n,} or {n,m}");
  EXPECT_EQ(rejected("root ::= \"\\q\""), "line 1: there is no escape \\q");
  EXPECT_EQ(rejected("root ::= \"\\ud800\""), "line 1: \\u of a surrogate is no character");
  EXPECT_EQ(rejected("root ::= \"\\x4\""), "line 1: \\x is not followed by the 2 hexadecimal digits of a code point");
  EXPECT_EQ(rejected("root ::= \"\xff\""), "line 1: the grammar is not valid UTF-8");
}

TEST(Gbnf, RefusesWhatIsTooMuchOrCannotBeSaid) {
  EXPECT_EQ(rejection("gbnf", "root ::= " + std::string(60'000, '('), ErrorCode::kResourceExhausted),
            "line 1: groups are nested deeper than 64");
  EXPECT_EQ(rejection("gbnf", "root ::= \"a\"{0,1000000000}", ErrorCode::kResourceExhausted),
            "line 1: a count is larger than 100000");
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  EXPECT_EQ(rejection("gbnf", "root ::= <[12]>", kUnsupported),
            "line 1: a token by its number cannot be said in a grammar");
  EXPECT_NE(rejection("gbnf", "root ::= !<a>", kUnsupported).find("any token but one"), std::string::npos);
  EXPECT_NE(rejection("gbnf", "root ::= TagDispatch((\"a\", b))", kUnsupported).find("TagDispatch"), std::string::npos);
  EXPECT_NE(rejection("gbnf", "root ::= \"a\" (=\"b\")", kUnsupported).find("look-ahead"), std::string::npos);
}

}  // namespace
}  // namespace millrace::grammar
