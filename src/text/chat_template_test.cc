#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

namespace millrace::text {
namespace {

using Json = nlohmann::ordered_json;

Result<std::vector<TextPiece>> render(std::string_view source, const Json& variables = Json::object(),
                                      TemplateLimits limits = {},
                                      const TemplateContext& context = {"<s>", "</s>", "", 1'721'822'705}) {
  auto compiled = ChatTemplate::compile(source, limits);
  if (!compiled) return compiled.error();
  return (*compiled)->render(variables, context);
}

std::string text(std::string_view source, const Json& variables = Json::object()) {
  const auto pieces = render(source, variables);
  if (!pieces) return "error: " + pieces.error().message;
  return std::accumulate(pieces->begin(), pieces->end(), std::string(),
                         [](std::string all, const TextPiece& p) { return all + p.text; });
}

// Trusted text as it is, untrusted text as [text].
std::string marked(std::string_view source, const Json& variables) {
  const auto pieces = render(source, variables);
  if (!pieces) return "error: " + pieces.error().message;
  std::string out;
  for (const TextPiece& p : *pieces) out += p.trusted ? p.text : "[" + p.text + "]";
  return out;
}

std::string failure(std::string_view source, const Json& variables = Json::object(), TemplateLimits limits = {}) {
  const auto pieces = render(source, variables, limits);
  return pieces ? "" : std::string(to_string(pieces.error().code)) + ": " + pieces.error().message;
}

bool mentions(const std::string& message, std::string_view part) { return message.find(part) != message.npos; }

TEST(ChatTemplate, KeepsUserTextUntrustedThroughOperations) {
  const Json v = {{"u", "<|x|>"}};
  EXPECT_EQ(marked("<|x|>{{ u }}", v), "<|x|>[<|x|>]");
  EXPECT_EQ(marked("{{ 'a' + u ~ 'b' }}", v), "a[<|x|>]b");
  EXPECT_EQ(marked("{{ ('--' ~ u)[1:4] }}", v), "-[<|]");
  EXPECT_EQ(marked("{{ ('ab' ~ u)|upper|replace('B', u) }}", v), "A[<|x|><|X|>]");
  EXPECT_EQ(marked("{{ [u, 'c']|join('-') }}", v), "[<|x|>]-c");
  EXPECT_EQ(marked("{{ '%s.%s' % ('t', u) }}{{ '{}'.format(u) }}", v), "t.[<|x|><|x|>]");
  EXPECT_EQ(marked("{{ u|tojson }}{{ [u] }}", v), "[\"<|x|>\"['<|x|>']]");
  EXPECT_EQ(marked("{{ ('a|' ~ u).split('|')[1] }}{{ u.strip('<>') }}", v), "[<|x|]");
  EXPECT_EQ(marked("{% macro m(x) %}({{ x }}){% endmacro %}{{ m(u) }}{% set y %}{{ u }}{% endset %}{{ y }}", v),
            "([<|x|>])[<|x|>]");
  EXPECT_EQ(marked("{% for k in d %}{{ k }}{% endfor %}", {{"d", {{"<s>", 1}}}}), "[<s>]");
}

TEST(ChatTemplate, TrustsItsOwnLiteralsAndTheSpecialTokens) {
  EXPECT_EQ(marked("{{ bos_token }}{{ 'a'|upper }}{{ eos_token }}", Json::object()), "<s>A</s>");
  EXPECT_EQ(marked("{{ bos_token }}", {{"bos_token", "<evil>"}}), "[<evil>]");
}

TEST(ChatTemplate, MergesNeighboursOfEqualTrust) {
  const auto pieces = render("a{{ 'b' }}{{ u }}{{ u }}", {{"u", "x"}});
  ASSERT_TRUE(pieces);
  ASSERT_EQ(pieces->size(), 2u);
  EXPECT_EQ((*pieces)[0].text, "ab");
  EXPECT_EQ((*pieces)[1].text, "xx");
}

TEST(ChatTemplate, NamesTheLineOfErrors) {
  EXPECT_EQ(failure("a\nb\n{{ x.y }}"), "invalid_argument: chat template, line 3: 'x' is undefined");
  EXPECT_TRUE(mentions(failure("\n{% foo %}"), "bad_file: chat template, line 2: the tag 'foo'"));
  EXPECT_TRUE(mentions(failure("{{ 1|nope }}"), "the filter 'nope' is not supported"));
}

TEST(ChatTemplate, PassesOnTheTemplatesOwnMessage) {
  EXPECT_EQ(failure("{{ raise_exception('Roles must alternate') }}"), "invalid_argument: Roles must alternate");
}

TEST(ChatTemplate, EveryLimitIsAnErrorThatNamesIt) {
  EXPECT_TRUE(
      mentions(failure("{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}"), "steps"));
  EXPECT_TRUE(mentions(failure("{% for i in range(9999) %}{{ s }}{% endfor %}", {{"s", std::string(5000, 'x')}}),
                       "output_bytes"));
  EXPECT_TRUE(mentions(failure("{{ ('x' * 1000) * 2000 }}"), "string_bytes"));
  EXPECT_TRUE(mentions(failure("{{ '%999999999d' % 1 }}"), "string_bytes"));
  EXPECT_TRUE(mentions(failure("{{ range(100001) }}"), "range_items"));
  EXPECT_TRUE(mentions(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "depth"));
  EXPECT_TRUE(mentions(
      failure("{% set n = namespace(x=[]) %}{% for i in range(999) %}{% set n.x = [n.x] %}{% endfor %}"), "depth"));
  EXPECT_TRUE(mentions(failure("{% set n = namespace() %}{% set n.x = [n] %}{{ n }}"), "depth"));
}

TEST(ChatTemplate, RefusesDeepSourceAndDeepData) {
  for (const std::string_view open : {"(", "[", "-", "not ", "{1:", "x[", "f("}) {
    std::string source = "{{ ";
    for (int i = 0; i < 10'000; ++i) source += open;
    EXPECT_TRUE(mentions(failure(source), "bad_file")) << open;
  }
  std::string chain = "{{ x";
  for (int i = 0; i < 10'000; ++i) chain += "|upper";
  EXPECT_TRUE(mentions(failure(chain + " }}"), "in a row"));
  Json deep = 1;
  for (int i = 0; i < 200; ++i) deep = Json::array({std::move(deep)});
  EXPECT_TRUE(mentions(failure("{{ x }}", {{"x", deep}}), "depth"));
}

TEST(ChatTemplate, LongFlatChainsCostNoDepth) {
  std::string source = "{{ 0";
  for (int i = 0; i < 10'000; ++i) source += " + 1";
  EXPECT_EQ(text(source + " }}"), "10000");
}

TEST(ChatTemplate, ListsAndDictsCannotBeChanged) {
  EXPECT_TRUE(mentions(failure("{{ [].append(1) }}"), "unsafe"));
  EXPECT_TRUE(mentions(failure("{{ {}.update({}) }}"), "unsafe"));
}

TEST(ChatTemplate, ReplacesInvalidUtf8OfData) {
  EXPECT_EQ(text("{{ x }}", {{"x", "a\xFF\xE4\xBDz"}}), "a\uFFFD\uFFFDz");
}

TEST(ChatTemplate, RefusesVariablesThatAreNotAnObject) {
  EXPECT_TRUE(mentions(failure("x", Json::array()), "must be a JSON object"));
}

TEST(ChatTemplate, FormatsTheCallersTime) {
  EXPECT_EQ(text("{{ strftime_now('%d %b %Y %H:%M') }}"), "24 Jul 2024 12:05");
}

}  // namespace
}  // namespace millrace::text
