#include "grammar/testing/language_cases.h"

namespace millrace::grammar {
namespace {

TEST(Lark, FitsWhatItsRulesSay) {
  expect_cases(
      "lark",
      {{"start: \"yes\" | \"no\"", {"yes", "no"}, {"", "yesno"}},
       {"start: A b? [c] (\"d\" | \"e\")+\nA: \"a\"..\"c\"\nb: \"B\"\nc: \"C\"\n",
        {"ad", "bBCed", "cCe"},
        {"a", "aCBd"}},
       {"start: \"a\"~2 \"b\"~1..3 \"c\"{2} \"d\"{,1} \"e\"{1,}", {"aabcce", "aabbbccdee"}, {"abcce", "aabcc"}},
       {"start: /[a-c]+/ /x.y/s /HI/i \"Stra\u00dfe\"i",
        {"abx\nyhiSTRA\u00dfE", "cxzyHistra\u00dfe"},
        {"abxyhistra\u00dfe", "abx\nyhi"}},
       {"start: /a\\/b/ \"\\n\\\"\\x41\\u00e9\"", {"a/b\n\"A\u00e9"}, {}},
       {"?start: sum\n!sum: product\n    | sum \"+\" product -> add\n?product: NUM\n_x.2: \"x\"\nNUM.-1: /[0-9]+/\n",
        {"1", "1+22+3"},
        {"", "1+", "+"}},
       {"start: (\n  \"a\"\n  | \"b\" // comment\n) # other\n\n\n", {"a", "b"}, {""}},
       {"start:\n  \"a\"\nb: \"b\"\n", {"a"}, {"", "ab"}},
       {"start: \"a\" |\nother: \"b\"\n", {"a", ""}, {"b"}},
       {"start: <|tool|> \"x\"", {"<|tool|>x"}, {"x"}},
       {"start[capture]: named\nnamed[capture=\"n\"]: \"a\"", {"a"}, {"b"}},
       {"start: my-rule\nmy-rule: \"a\"\r\n", {"a"}, {}},
       {"%llguidance {}\nstart: \"a\"", {"a"}, {}},
       {"start: start \"a\" | \"b\"", {"b", "baa"}, {"a"}}});
}

TEST(Lark, IgnoresBetweenTerminalsButNotInsideThem) {
  expect_cases("lark", {{"start: \"a\" WORD+ \"!\"\n%import common.WORD\n%import common.WS\n%ignore WS\n%ignore \"#\"",
                         {"a bc d!", " a\nbcd # ! \t", "ab!"},
                         {"a b .", "a!", "a .b!"}},
                        {"start: PAIR\nPAIR: \"a\" \"b\"\n%ignore \" \"", {"ab", " ab  "}, {"a b"}},
                        {"start: pair\npair: \"a\" \"b\"\n%ignore / +/ | \"_\"", {"ab", " a_ b_"}, {"a-b"}}});
}

TEST(Lark, ImportsTheUsualTerminals) {
  const auto of = [](const std::string& name) { return "start: " + name + "\n%import common." + name + "\n"; };
  expect_cases("lark", {{of("INT"), {"0", "123"}, {"", "-1", "1.0"}},
                        {of("SIGNED_INT"), {"-1", "+2", "3"}, {"--1"}},
                        {of("DECIMAL"), {"1.", ".5", "1.5"}, {".", "1"}},
                        {of("FLOAT"), {"1e5", "1.5", "1.E-3", ".5e+2"}, {"1", "e5", "-1.5"}},
                        {of("SIGNED_FLOAT"), {"-1.5"}, {"-1"}},
                        {of("NUMBER"), {"1", "1.5", "2e3"}, {"-1"}},
                        {of("SIGNED_NUMBER"), {"-1", "+1.5", "2"}, {"+-1", "-"}},
                        {of("ESCAPED_STRING"), {"\"\"", "\"a\\\"b\"", "\"\\\\\""}, {"\"a\"b\"", "\"\n\"", "\"\\\""}},
                        {of("CNAME"), {"_a1", "B"}, {"1a", ""}},
                        {of("WORD"), {"aB"}, {"a1"}},
                        {of("HEXDIGIT"), {"f", "0", "A"}, {"g"}},
                        {of("WS"), {" \t\n\r\f"}, {""}},
                        {of("WS_INLINE"), {" \t"}, {"\n"}},
                        {of("NEWLINE"), {"\n", "\r\n\n"}, {"\r"}},
                        {of("C_COMMENT"), {"/**/", "/* a * / **/"}, {"/*/", "/* */ */"}},
                        {of("CPP_COMMENT"), {"// x"}, {"/", "//\n"}},
                        {"start: A B C\n%import common (DIGIT,\n LETTER)\n%import common.INT -> A\nB: LETTER\nC: DIGIT",
                         {"12x3"},
                         {"x12"}}});
}

TEST(Lark, NamesTheLineOfWhatIsWrong) {
  const auto rejected = [](const std::string& source) { return rejection("lark", source); };
  EXPECT_EQ(rejected("start: \"a\"\n\nb: c"), "line 3: the rule \"c\" is not defined");
  EXPECT_EQ(rejected("start: \"a\"\nstart: \"b\""), "line 2: the rule \"start\" is defined in line 1 already");
  EXPECT_EQ(rejected("a: \"a\"\n"), "line 2: there is no rule \"start\", with which the text begins");
  EXPECT_EQ(rejected("start \"a\""), "line 1: expected ':' after the name \"start\"");
  EXPECT_EQ(rejected("start: \"a"), "line 1: a string is not closed");
  EXPECT_EQ(rejected("start: /a"), "line 1: the '/' that closes is missing");
  EXPECT_EQ(rejected("start: (\"a\"\n"), "line 1: the group is not closed");
  EXPECT_EQ(rejected("start: \"a\")"), "line 1: unexpected ')'");
  EXPECT_EQ(rejected("start: \"a\" = \"b\""), "line 1: unexpected '='");
  EXPECT_EQ(rejected("start: \"z\"..\"a\""), "line 1: a range is from one character to one that is not before it");
  EXPECT_EQ(rejected("start: A\nA: b\nb: \"b\""), "line 2: the rule \"b\" cannot stand in a terminal");
  EXPECT_EQ(rejected("%import common.FOO\nstart: FOO"),
            "line 1: there is no terminal \"FOO\" to import from \"common\"");
  EXPECT_EQ(rejected("start: \"a\"\nA: /[/\n"), "line 2: the regex at position 0: the class is not closed");
  EXPECT_EQ(rejected("start: %json { \"a\": "), "line 1: expected an object of JSON");
}

TEST(Lark, RefusesByNameWhatCannotBeSaid) {
  for (const auto& [source, what] : std::vector<std::pair<std::string, std::string>>{
           {"start: _sep{a, \",\"}\na: \"a\"", "a template"},
           {"_sep{x, s}: x\nstart: \"a\"", "a template"},
           {"start[lazy]: /a+/", "the option [lazy]"},
           {"start: ~A\nA: \"a\"", "the negation"},
           {"start: A & A\nA: \"a\"", "the intersection"},
           {"start: <[5]>", "a token by its number"},
           {"start: A\nA: <x>", "a special token inside a terminal"},
           {"start: @other", "a grammar beside this one"},
           {"start: %regex { }", "%regex"},
           {"%declare A\nstart: A", "%declare"},
           {"%import python.NAME\nstart: NAME", "an import from anywhere but"},
           {"%llguidance { \"no_forcing\": true }\nstart: \"a\"", "an option of %llguidance"},
           {"start: /a/m", "the flag 'm'"},
           {"start: /a(?=b)/", "look-around"},
           {"start::_ : \"a\"", "a parameter"}}) {
    EXPECT_NE(rejection("lark", source, ErrorCode::kUnsupported).find(what), std::string::npos)
        << source << rejection("lark", source, ErrorCode::kUnsupported);
  }
}

TEST(Lark, RefusesWhatIsTooMuch) {
  EXPECT_EQ(rejection("lark", "start: " + std::string(60'000, '['), ErrorCode::kResourceExhausted),
            "line 1: groups are nested deeper than 64");
  EXPECT_EQ(rejection("lark", "start: \"a\"~1000000000", ErrorCode::kResourceExhausted),
            "line 1: a count is larger than 100000");
}

TEST(Ebnf, IsGbnfOrLark) {
  expect_cases("ebnf", {{"# start: a\nroot ::= \"a\" # x", {"a"}, {"b"}},
                        {"// no ::= here\nstart: \"b\" // root ::= \"a\"\n", {"b"}, {"a"}}});
  EXPECT_EQ(rejection("ebnf", ""), "line 1: there is no rule \"start\", with which the text begins");
}

}  // namespace
}  // namespace millrace::grammar
