#include <fmt/format.h>

#include <algorithm>

#include "grammar/testing/language_cases.h"

namespace millrace::grammar {
namespace {

// Written with ' for ".
std::string json(std::string text) {
  std::ranges::replace(text, '\'', '"');
  return text;
}

std::string of_format(const std::string& format) { return json("{'type':'structural_tag','format':" + format + "}"); }

void expect_format(const std::string& format, const std::vector<std::string>& fits,
                   const std::vector<std::string>& fails) {
  expect_cases("structural_tag", {{of_format(format), fits, fails}});
}

std::string text(const std::string& value) { return "{'type':'const_string','value':'" + value + "'}"; }
std::string tag(const std::string& begin, const std::string& content, const std::string& end) {
  return "{'type':'tag','begin':'" + begin + "','content':" + content + ",'end':'" + end + "'}";
}
const std::string kDigits = "{'type':'regex','pattern':'[0-9]+'}";
const std::string kAnyText = "{'type':'any_text'}";

TEST(StructuralTag, FitsPlainFormats) {
  expect_format(text("a b"), {"a b"}, {"", "a"});
  expect_format(kDigits, {"12"}, {"", "1a"});
  expect_format("{'type':'grammar','grammar':'root ::= \\'x\\'+'}", {"x", "xx"}, {""});
  expect_format(kAnyText, {"", "all\n\u00e9"}, {});
  expect_format("{'type':'any_text','excludes':['ab','c'],'max_chars':3}", {"", "aa", "b\u00e9a"},
                {"ab", "xc", "dddd"});
  expect_format("{'type':'token','token':'<|x|>'}", {"<|x|>"}, {"x"});
}

TEST(StructuralTag, FitsFormatsMadeOfOthers) {
  expect_format("{'type':'sequence','elements':[" + text("a") + "," + kDigits + "]}", {"a1", "a22"}, {"a", "1"});
  expect_format("{'type':'or','elements':[" + text("a") + "," + kDigits + "]}", {"a", "1"}, {"a1", ""});
  expect_format("{'type':'optional','content':" + text("a") + "}", {"", "a"}, {"aa"});
  expect_format("{'type':'plus','content':" + text("a") + "}", {"a", "aaa"}, {""});
  expect_format("{'type':'star','content':" + text("a") + "}", {"", "aaa"}, {"b"});
  expect_format("{'type':'repeat','min':1,'max':2,'content':" + text("a") + "}", {"a", "aa"}, {"", "aaa"});
  expect_format("{'type':'repeat','min':2,'max':-1,'content':" + text("a") + "}", {"aa", "aaaaa"}, {"a"});
}

TEST(StructuralTag, EndsTextInsideATagAtTheEndOfTheTag) {
  expect_format(tag("<t>", kAnyText, "</t>"), {"<t></t>", "<t>a <t> </t >b</t>"}, {"<t>a", "<t>a</t>b", "<t></t></t>"});
  expect_format("{'type':'tag','begin':'(','content':" + kAnyText + ",'end':[')',']']}", {"(a)", "(a]"},
                {"(a])", "(a)]"});
  expect_format(tag("(", "{'type':'any_text','excludes':['x',')']}", ")"), {"(a)", "()"}, {"(x)", "(a))"});
  expect_format(tag("(", "{'type':'sequence','elements':[" + text("a") + "," + kAnyText + "]}", ")"), {"(a)", "(abc)"},
                {"(a)b)", "(b)"});
  expect_format("{'type':'tag','begin':{'type':'token','token':'<t>'},'content':" + kAnyText +
                    ",'end':{'type':'token','token':'</t>'}}",
                {"<t>a</t>"}, {"<t>a</t>b</t>"});
  expect_format(tag("<", kDigits, ""), {"<12"}, {"<12>"});
}

const std::string kTags =
    "[" + tag("<f=a>", kDigits, "</f>") + "," + tag("<f=b>", "{'type':'regex','pattern':'x*'}", "</f>") + "]";
std::string triggered(const std::string& more) {
  return "{'type':'triggered_tags','triggers':['<f='],'tags':" + kTags + more + "}";
}

TEST(StructuralTag, TurnsToATagWhereATriggerComes) {
  expect_format(triggered(""), {"", "hi", "hi <f=a>1</f>", "<f=a>1</f><f=b></f> bye", "a <f <<f=b>xx</f>"},
                {"<f=", "<f=c>", "<f=a>x</f>", "hi <f=a>1"});
  expect_format(triggered(",'at_least_one':true"), {"<f=a>1</f>", "<f=a>1</f> x <f=b></f>"}, {"", "x<f=a>1</f>"});
  expect_format(triggered(",'stop_after_first':true"), {"", "x", "x<f=a>1</f>"},
                {"<f=a>1</f>x", "<f=a>1</f><f=b></f>"});
  expect_format(triggered(",'stop_after_first':true,'at_least_one':true"), {"<f=a>1</f>"},
                {"", "x<f=a>1</f>", "<f=a>1</f>x"});
  expect_format(triggered(",'excludes':['no']"), {"n o", "x<f=a>1</f>n"}, {"no", "no<f=a>1</f>", "<f=a>1</f>no"});
  expect_format(triggered(",'excludes':['x<f=']"), {"y<f=a>1</f>", "x"}, {"x<f=a>1</f>"});
  expect_format(tag("[", triggered(""), "]"), {"[]", "[a<f=a>1</f>b]"}, {"[]]", "[a]<f=a>1</f>]"});
}

TEST(StructuralTag, KeepsTriggersApart) {
  expect_format("{'type':'triggered_tags','triggers':['<a','<b'],'tags':[" + tag("<a>", kDigits, ";") + "," +
                    tag("<b>", text("x"), ";") + "]}",
                {"<a>1;<b>x;", "t<b>x;"}, {"<a>x;", "<b>1;", "<a"});
}

TEST(StructuralTag, SeparatesTags) {
  const auto separated = [](const std::string& more) {
    return "{'type':'tags_with_separator','tags':" + kTags + ",'separator':', '" + more + "}";
  };
  expect_format(separated(""), {"", "<f=a>1</f>", "<f=a>1</f>, <f=b>x</f>"}, {"<f=a>1</f>,", "<f=a>1</f><f=b>x</f>"});
  expect_format(separated(",'at_least_one':true"), {"<f=a>1</f>, <f=a>2</f>"}, {""});
  expect_format(separated(",'stop_after_first':true"), {"", "<f=a>1</f>"}, {"<f=a>1</f>, <f=a>2</f>"});
}

TEST(StructuralTag, Dispatches) {
  const auto dispatch = [](const std::string& more) {
    return "{'type':'dispatch','rules':[['<n>'," + kDigits + "],['<x>'," + text("x") + "]]" + more + "}";
  };
  expect_format(dispatch(""), {"", "a<n>1b<x>x", "<n>12"}, {"<n>", "<x>1"});
  expect_format(dispatch(",'loop':false,'excludes':['!']"), {"", "a<n>1", "b"}, {"<n>1b", "!"});
}

TEST(StructuralTag, TurnsToATagWhereATokenComes) {
  const std::string tags = "'tags':[{'type':'tag','begin':{'type':'token','token':'<|u|>'},'content':" + kDigits +
                           ",'end':{'type':'token','token':'</t>'}}]";
  const auto with = [&](const std::string& more) {
    return "{'type':'token_triggered_tags','trigger_tokens':['<|u|>']," + tags + more + "}";
  };
  expect_format(with(""), {"", "a", "a<|u|>1</t>b<|u|>2</t>"}, {"<|u|>", "<|u|>1</t", "<|u|>a</t>"});
  expect_format(with(",'at_least_one':true,'stop_after_first':true"), {"<|u|>1</t>"}, {"", "a<|u|>1</t>"});
  expect_format("{'type':'token_dispatch','rules':[['<|q|>'," + kDigits + "]],'exclude_tokens':['no']}",
                {"", "a<|q|>1b<|q|>2"}, {"<|q|>", "no"});
  expect_format("{'type':'token_dispatch','loop':false,'rules':[['<|q|>'," + kDigits + "]]}", {"a<|q|>1", "b"},
                {"<|q|>1<|q|>2", "<|q|>1b"});
  expect_format("{'type':'any_tokens','exclude_tokens':['<|q|>']}", {"", "ab"}, {"a<|q|>"});
}

TEST(StructuralTag, TakesTheOlderFormToo) {
  expect_cases(
      "structural_tag",
      {{json("{'type':'structural_tag','structures':[{'begin':'<f>','schema':{'type':'integer'},'end':'</f>'}],"
             "'triggers':['<f']}"),
        {"", "a <f>12</f> b<f>3</f>"},
        {"<f>a</f>", "<f"}}});
  expect_format(tag("<f>", "{'type':'json_schema','json_schema':{'enum':['a',1]}}", "</f>"),
                {"<f>\"a\"</f>", "<f>1</f>"}, {"<f>2</f>"});
}

TEST(StructuralTag, NamesWhatIsWrongByItsPointer) {
  const auto rejected = [](const std::string& source) { return rejection("structural_tag", json(source)); };
  const auto in_format = [](const std::string& source) { return rejection("structural_tag", of_format(source)); };
  EXPECT_EQ(rejected("{"), "the structural tag is not JSON");
  EXPECT_EQ(rejected("[]"), "the structural tag: must be an object");
  EXPECT_EQ(rejected("{'format':1,'format':2}"), "the structural tag has the key \"format\" twice in an object");
  EXPECT_EQ(rejected(std::string(60'000, '[')), "the structural tag is nested deeper than 512");
  EXPECT_EQ(rejected("{'type':'structural_tag'}"), "/format: is missing");
  EXPECT_EQ(rejected("{'type':'x','format':" + text("a") + "}"), "/type: must be \"structural_tag\"");
  EXPECT_EQ(rejected("{'format':" + text("a") + ",'more':1}"), "/more: is not known here");
  EXPECT_EQ(rejected("{'structures':[],'triggers':['a']}"), "/structures: must have at least 1");
  EXPECT_EQ(rejected("{'structures':[{'begin':'a','end':''}],'triggers':['a']}"), "/structures/0/schema: is missing");
  EXPECT_EQ(in_format("3"), "/format: must be an object");
  EXPECT_EQ(in_format("{'type':'const_string','value':1}"), "/format/value: must be a string");
  EXPECT_EQ(in_format("{'type':'const_string','value':'a','x':1}"), "/format/x: is not known here");
  EXPECT_EQ(in_format("{'type':'sequence','elements':[" + text("a") + ",{'type':'regex','pattern':'('}]}"),
            "/format/elements/1/pattern: the regex at position 0: the group is not closed");
  EXPECT_EQ(in_format("{'type':'or','elements':[]}"), "/format/elements: must have at least 1");
  EXPECT_EQ(in_format("{'type':'repeat','min':2,'max':1,'content':" + text("a") + "}"),
            "/format/max: must be -1, or from min to 100000");
  EXPECT_EQ(in_format("{'type':'repeat','min':99999999999999999999,'max':1,'content':" + text("a") + "}"),
            "/format/min: must be an integer");
  EXPECT_EQ(in_format("{'type':'any_text','excludes':['']}"), "/format/excludes/0: must be a string that is not empty");
  EXPECT_EQ(in_format("{'type':'any_text','max_chars':-1}"), "/format/max_chars: must be from 0 to 100000");
  EXPECT_EQ(in_format("{'type':'dispatch','rules':[['a']]}"),
            "/format/rules/0: must be a list of a string that is not empty and a format");
  EXPECT_EQ(in_format("{'type':'triggered_tags','triggers':['<g'],'tags':" + kTags + "}"),
            "/format/tags/0/begin: begins with 0 of the triggers; it must be one");
  EXPECT_EQ(in_format("{'type':'triggered_tags','triggers':['<','<f'],'tags':" + kTags + "}"),
            "/format/tags/0/begin: begins with 2 of the triggers; it must be one");
  EXPECT_EQ(in_format(triggered(",'excludes':['<']")),
            "/format/triggers/0: can never come: an end, an exclude or another trigger comes before");
  EXPECT_EQ(in_format("{'type':'grammar','grammar':'root ::= b'}"),
            "/format/grammar: line 1: the rule \"b\" is not defined");
}

TEST(StructuralTag, RefusesByNameWhatIsNotSupported) {
  const auto rejected = [](const std::string& format) {
    return rejection("structural_tag", of_format(format), ErrorCode::kUnsupported);
  };
  EXPECT_EQ(rejected("{'type':'exclude_token'}"), "/format/type: the format \"exclude_token\" is not supported");
  EXPECT_EQ(rejected("{'type':'any_text','max_tokens':3}"), "/format/max_tokens: a limit in tokens is not supported");
  EXPECT_EQ(rejected("{'type':'token','token':3}"), "/format/token: a token by its number is not supported");
  EXPECT_EQ(rejected("{'type':'any_tokens','exclude_tokens':[3]}"),
            "/format/exclude_tokens: a token by its number is not supported");
  EXPECT_EQ(rejected("{'type':'json_schema','json_schema':{},'style':'qwen_xml'}"),
            "/format/style: a style that is not \"json\" is not supported");
}

TEST(StructuralTag, RefusesWhatIsTooMuch) {
  std::string deep = text("a");
  for (int i = 0; i < 100; ++i) deep = "{'type':'plus','content':" + deep + "}";
  EXPECT_NE(rejection("structural_tag", of_format(deep), ErrorCode::kResourceExhausted).find("nested deeper than 64"),
            std::string::npos);
  std::string words;
  for (int i = 0; i < 2000; ++i) {
    words += (i == 0 ? "'" : ",'") + std::string("\\u") + fmt::format("{:04x}", 0x4e00 + i) + "aaaaaaaaaaaaaaa'";
  }
  EXPECT_NE(rejection("structural_tag", of_format("{'type':'any_text','excludes':[" + words + "]}"),
                      ErrorCode::kResourceExhausted)
                .find("too complex"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace::grammar
