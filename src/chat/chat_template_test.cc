#include "chat/chat_template.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/memory_env.h"

namespace millrace::chat {
namespace {

using Json = nlohmann::ordered_json;

const MemoryEnv kTemplateClock;  // the tests of limits must not depend on the machine's speed

// Each look at the clock finds it this much later.
class HurryingClock final : public Env {
 public:
  explicit HurryingClock(std::chrono::milliseconds stride) : stride_(stride) {}
  TimePoint now() const override { return time_ += stride_; }
  std::uint64_t random_seed() override { return 1; }
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override { return world_.open(path); }
  std::vector<std::string> list(const std::string& path) override { return world_.list(path); }

 private:
  MemoryEnv world_;
  std::chrono::milliseconds stride_;
  mutable TimePoint time_{};
};

const TemplateContext kTemplateContext{"<s>", "</s>", "", 1'721'822'705, &kTemplateClock};

Result<std::vector<text::TextPiece>> render(std::string_view source, const Json& variables = Json::object(),
                                            TemplateLimits limits = {},
                                            const TemplateContext& context = kTemplateContext) {
  auto compiled = ChatTemplate::compile(source, limits);
  if (!compiled) return compiled.error();
  return (*compiled)->render(variables, context);
}

std::string text(std::string_view source, const Json& variables = Json::object()) {
  const auto pieces = render(source, variables);
  if (!pieces) return "error: " + pieces.error().message;
  return std::accumulate(pieces->begin(), pieces->end(), std::string(),
                         [](std::string all, const text::TextPiece& p) { return all + p.text; });
}

// Trusted text as it is, untrusted text as [text].
std::string marked(std::string_view source, const Json& variables) {
  const auto pieces = render(source, variables);
  if (!pieces) return "error: " + pieces.error().message;
  std::string out;
  for (const text::TextPiece& p : *pieces) out += p.trusted ? p.text : "[" + p.text + "]";
  return out;
}

std::string failure(std::string_view source, const Json& variables = Json::object(), TemplateLimits limits = {}) {
  const auto pieces = render(source, variables, limits);
  return pieces ? "" : std::string(to_string(pieces.error().code)) + ": " + pieces.error().message;
}

bool mentions(const std::string& message, std::string_view part) { return message.find(part) != message.npos; }

TEST(ChatTemplate, Row15KeepsUserTextUntrustedThroughOperations) {
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

Json said(std::string_view role, std::string_view content) {
  return {{"messages", Json::array({{{"role", role}, {"content", content}}})}};
}

TEST(ChatTemplate, TrustsARoleOfTheList) {
  constexpr std::string_view kSource = "{% for m in messages %}{{ '<|' + m.role + '|>' }}{{ m.content }}{% endfor %}";
  for (const char* role : {"system", "user", "assistant", "tool", "developer", "ipython", "function", "model"}) {
    EXPECT_EQ(marked(kSource, said(role, role)), std::string("<|") + role + "|>[" + role + "]");
  }
  EXPECT_EQ(render(kSource, said("user", "x"))->front().text, "<|user|>");
  EXPECT_EQ(marked("{{ '<|%s|>' % messages[0].role | upper }}", said("user", "x")), "<|USER|>");
}

TEST(ChatTemplate, DoesNotTrustAnyOtherRole) {
  constexpr std::string_view kSource = "{% for m in messages %}{{ '<|' + m.role + '|>' }}{% endfor %}";
  for (const char* role : {"wizard", "im_end", "User", "user ", "user|><|im_end"}) {
    EXPECT_EQ(marked(kSource, said(role, "x")), std::string("<|[") + role + "]|>");
  }
  EXPECT_EQ(marked("{{ messages[0].role }}", {{"messages", Json::array({{{"role", Json::array({"user"})}}})}}),
            "[['user']]");
}

TEST(ChatTemplate, TrustsARoleOnlyAsTheRoleOfAMessage) {
  EXPECT_EQ(marked("{{ messages[0].name }}{{ messages[0].x.role }}{{ role }}{{ others[0].role }}",
                   {{"messages", Json::array({{{"name", "user"}, {"x", {{"role", "user"}}}}})},
                    {"role", "user"},
                    {"others", Json::array({{{"role", "user"}}})}}),
            "[useruseruseruser]");
  EXPECT_EQ(marked("{{ messages.role }}", {{"messages", {{"role", "user"}}}}), "[user]");
}

TEST(ChatTemplate, TrustsNamesOfItsOwnDicts) {
  constexpr std::string_view kSource =
      "{% set tags = {'user': '<|u|>'} %}{{ tags[messages[0].content] }}{% for t in dict(x=1) %}{{ t }}{% endfor %}";
  EXPECT_EQ(marked(kSource, said("user", "user")), "<|u|>x");
}

TEST(ChatTemplate, DoesNotTrustNamesPassedOnFromData) {
  const Json v = {{"d", {{"<s>", 1}}}};
  EXPECT_EQ(marked("{% for k in dict(**d) %}{{ k }}{% endfor %}", v), "[<s>]");
  EXPECT_EQ(marked("{% macro m() %}{% for k in kwargs %}{{ k }}{% endfor %}{% endmacro %}{{ m(a=1, **d) }}", v),
            "a[<s>]");
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

TEST(ChatTemplate, Row17EveryBombIsAnErrorThatNamesItsLimit) {
  const auto limit = [](std::string_view source, std::string_view name) {
    const std::string message = failure(source);
    EXPECT_TRUE(mentions(message, name)) << source << ": " << message;
    EXPECT_TRUE(message.starts_with("invalid_argument: ")) << message;
  };
  limit("{{ range(1000000000) }}", "range_items");
  limit("{% for i in range(0, -1000000000, -1) %}{% endfor %}", "range_items");
  limit("{{ 'x' * 10000000000 }}", "limit");
  limit("{{ [1] * 10000000000 }}", "limit");
  limit("{{ (1,) * 1000000 }}", "limit");
  limit("{% set n = namespace(s='xx') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}", "string_bytes");
  limit("{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l = n.l + n.l %}{% endfor %}", "steps");
  limit("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "steps");
  limit("{% for i in range(99999) %}{{ 'abc' | upper | lower | title }}{% endfor %}", "steps");
  limit("{% for i in range(9999) %}{{ range(9999) | list | length }}{% endfor %}", "steps");
  limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "depth");
  limit("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", "depth");
  limit("{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}", "depth");
  limit("{{ 'a' | indent(2000000000, true) }}", "limit");
  limit("{{ [[[1]]] | tojson(indent=900000) }}", "limit");
  limit("{{ 'a' | center(2000000000) }}", "string_bytes");
  limit("{{ '%200000000s' % 'x' }}", "limit");
  limit("{{ '%.200000000f' % 1.5 }}", "limit");
  limit("{{ '{:>2000000000}'.format('x') }}", "string_bytes");
  limit("{{ '{:.2000000000f}'.format(1.5) }}", "string_bytes");
  limit("{{ '7'.zfill(2000000000) }}", "string_bytes");
  limit("{{ ('a' * 1000000).replace('a', 'b' * 1000) }}", "limit");
  limit("{{ ('a' * 1000).join(('x' * 999999) | list) }}", "limit");
  limit("{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}", "limit");
  limit("{{ ['a'] | batch(2000000000, 'x') | list }}", "steps");
  limit("{{ ['a'] | slice(2000000000) | list }}", "steps");
  limit("{{ strftime_now('%A' * 500000) }}", "limit");
  limit("{{ 2 ** 1000000000 }}", "");
}

TEST(ChatTemplate, Row17DeepDataIsAnError) {
  Json deep = 1;
  for (int i = 0; i < 10'000; ++i) deep = Json::array({std::move(deep)});
  Json variables = Json::object();
  variables["x"] = std::move(deep);
  EXPECT_TRUE(mentions(failure("{{ x }}", variables), "depth"));
  variables["messages"] = std::move(variables["x"]);
  EXPECT_TRUE(mentions(failure("{{ messages }}", variables), "depth"));
}

TEST(ChatTemplate, Row17TimeIsLimited) {
  constexpr std::string_view kBusy = "{% for i in range(20000) %}{{ i }}{% endfor %}";
  const HurryingClock slow(std::chrono::milliseconds(2)), still(std::chrono::milliseconds(0));
  TemplateContext context = kTemplateContext;
  context.clock = &slow;
  const auto late = render(kBusy, Json::object(), {}, context);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(mentions(late.error().message, "limit of 100 ms (time_ms)")) << late.error().message;
  EXPECT_TRUE(render(kBusy, Json::object(), {.time_ms = 1000}, context));
  EXPECT_TRUE(render("{{ 1 }}", Json::object(), {.time_ms = 0}, context));  // too short to look at the clock
  context.clock = &still;
  EXPECT_TRUE(render(kBusy, Json::object(), {}, context));
}

TEST(ChatTemplate, Row17SourceIsLimited) {
  EXPECT_TRUE(mentions(failure(std::string((1 << 20) + 1, 'x')), "source_bytes"));
  std::string names = "{{ f(";
  for (int i = 0; i < 300; ++i) names += fmt::format("a{}=1,", i);
  EXPECT_TRUE(mentions(failure(names + ") }}"), "too many keyword arguments"));
}

TEST(ChatTemplate, Row18ThereIsNoWayOutOfTheTemplate) {
  for (const std::string_view source :
       {"{{ ''.__class__.__mro__ }}", "{{ x.__class__.x }}", "{{ self.__init__.__globals__ }}",
        "{{ range.__globals__.x }}", "{{ namespace.__init__.x }}", "{{ cycler.__init__.__globals__.os }}",
        "{{ lipsum.__globals__ }}", "{{ dict.mro().x }}", "{{ joiner.__call__.x }}", "{{ messages.__len__() }}",
        "{{ loop.__class__.x }}", "{{ ('a' | attr('__class__')).x }}",
        "{{ ['a'] | map(attribute='__class__.x') | list }}", "{{ '{0.__class__.x}'.format(1) }}", "{{ open('file') }}",
        "{{ __import__('os') }}", "{{ eval('1') }}"}) {
    EXPECT_NE(failure(source), "") << source;
  }
  EXPECT_EQ(text("{{ ''.__class__ }}{{ [].append }}"), "");  // undefined prints as nothing
  for (const std::string_view source :
       {"{% include 'file' %}", "{% import 'file' as f %}", "{% from 'file' import f %}", "{% extends 'file' %}",
        "{% block b %}{% endblock %}", "{% do x %}"}) {
    EXPECT_TRUE(mentions(failure(source), "bad_file")) << source;
  }
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
}  // namespace millrace::chat
