// Which answers a request with tools may get, in each way that models spell calls: what the grammar lets through is
// read back as the calls that it is.

#include "server/answer_grammar.h"

#include <gtest/gtest.h>

#include "chat/answer_reader.h"
#include "grammar/matcher.h"
#include "text/testing/vocabularies.h"

namespace millrace::server {
namespace {

using Choice = chat::tools::ToolUse::Choice;

// A vocabulary without special tokens for the words of the formats: they are text.
std::shared_ptr<ModelProfile> profile() {
  const std::shared_ptr<const text::Tokenizer> tokenizer =
      text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt2")).or_throw();
  return std::shared_ptr<ModelProfile>(new ModelProfile{.name = "m",
                                                        .tokenizer = tokenizer,
                                                        .chat = nullptr,
                                                        .generation = {},
                                                        .breakers = std::make_shared<decode::BreakerCache>(tokenizer)});
}

// A call of f(a: string) and of now() may follow, as the choice says.
class Answers {
 public:
  Answers(const std::string& format, Choice choice, const std::string& reasoning = "") {
    task_.model = profile();
    task_.reading.parts = true;
    task_.reading.id_seed = "x";
    task_.reading.tools = chat::tools::find_tool_format(format).or_throw();
    if (!reasoning.empty()) task_.reading.reasoning = chat::reasoning::find_reasoning_format(reasoning).or_throw();
    task_.fields.tool_use.choice = choice;
    task_.fields.tool_use.tools = {
        {.name = "f",
         .parameters = Json::parse(R"({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                                       "additionalProperties": false})")},
        {.name = "now", .parameters = nullptr}};
    grammar::GrammarCache cache(task_.model->tokenizer);
    grammar_ = chat::compiled_grammar(cache, *asked_grammar(task_), 0).or_throw();
  }

  bool fit(const std::string& text) const {
    grammar::Matcher matcher(grammar_);
    return matcher.accept_bytes(text) && matcher.may_end();
  }
  std::size_t calls_in(const std::string& text) const {
    chat::AnswerReader reader(task_.reading, task_.fields.tool_use, 0);
    chat::AnswerParts parts;
    for (const chat::PartEvent& event : reader.push(text, true)) chat::add_event(parts, event);
    for (const auto& call : parts.calls) {
      EXPECT_TRUE(Json::parse(call.arguments, nullptr, false).is_object()) << text;
    }
    return parts.calls.size();
  }

 private:
  GenerationTask task_;
  std::shared_ptr<grammar::CompiledGrammar> grammar_;
};

struct Said {
  std::string text;
  std::size_t calls = 0;
};

void expect_answers(const std::string& format, const std::vector<Said>& fit, const std::vector<std::string>& fail) {
  SCOPED_TRACE(format);
  const Answers free(format, Choice::kAuto), demanded(format, Choice::kRequired);
  for (const Said& one : fit) {
    EXPECT_TRUE(free.fit(one.text)) << one.text;
    EXPECT_EQ(free.calls_in(one.text), one.calls) << one.text;
    EXPECT_TRUE(one.calls > 0 || !demanded.fit(one.text)) << one.text;
  }
  for (const std::string& text : fail) {
    EXPECT_FALSE(free.fit(text)) << text;
    EXPECT_FALSE(demanded.fit(text)) << text;
  }
}

TEST(AnswerGrammar, AWordThatOpensACallIsFollowedByOne) {
  const std::string call = R"(<tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call>)";
  expect_answers("hermes", {{"", 0}, {R"(Hi {"a": 1} [1])", 0}, {call, 1}, {"Well. " + call, 1}},
                 {"<tool_call>", "<tool_call>Hi", R"(<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>)"});
}

TEST(AnswerGrammar, ABraceBeginsACallOfLlama) {
  const std::string call = R"({"name": "f", "parameters": {"a": "x"}})", now = R"({"name": "now", "parameters": {}})";
  expect_answers("llama3_json",
                 {{"", 0},
                  {"Hi", 0},
                  {" \n", 0},
                  {R"(As JSON: {"answer": 42})", 0},
                  {"[1]", 0},
                  {call, 1},
                  {" \n" + call, 1},
                  {call + "; " + now, 2},
                  {"<|python_tag|>" + now, 1},
                  {"Let me see. <|python_tag|>" + call + "; " + now, 2}},
                 {"{", R"({"answer": 42})", R"( {"answer": 42})", call + " and so on", "<|python_tag|>print(1)",
                  R"({"name": "g", "parameters": {}})", R"({"name": "f", "parameters": {"a": 1}})"});
}

TEST(AnswerGrammar, ABracketBeginsCallsAsPythonHasThem) {
  for (const auto& [format, open, close] : {std::tuple{"pythonic", "<function_calls>", "</function_calls>"},
                                            std::tuple{"llama4_pythonic", "<|python_start|>", "<|python_end|>"}}) {
    const std::string calls = R"([f(a="x"), now()])";
    expect_answers(format,
                   {{"", 0},
                    {"Hi [1]", 0},
                    {"{}", 0},
                    {calls, 2},
                    {"\n[now()]", 1},
                    {open + calls + close, 2},
                    {std::string("Let me see. ") + open + "\n[now()]\n" + close, 1}},
                   {"[1, 2]", "[", " [x]", "[g()]", "[f(a=1)]", "[now()] and so on", std::string(open) + "Hi"});
  }
}

TEST(AnswerGrammar, AFunctionThatIsAddressedIsCalled) {
  expect_answers("functionary_v3",
                 {{"all\nHi", 0},
                  {"all\n>>> print(1)", 0},
                  {"f\n{\"a\": \"x\"}", 1},
                  {"f\n{\"a\": \"x\"}>>>now\n{}", 2},
                  {"all\nHi>>>now\n{}", 1}},
                 {"", "Hi", "g\n{}", "f\nHi", "f\n{\"a\": 1}", "all\nHi>>>now\nHi"});
  const std::string next = "\n<|from|>assistant\n<|recipient|>";
  expect_answers(
      "functionary_v2",
      {{"all\n<|content|>Hi", 0},
       {"f\n<|content|>{\"a\": \"x\"}", 1},
       {"all\n<|content|>Hi" + next + "now\n<|content|>{}", 1},
       {"now\n<|content|>{}" + next + "now\n<|content|>{}", 2}},
      {"", "Hi", "g\n<|content|>{}", "f\n<|content|>Hi", "all\n<|content|>Hi" + next + "now\n<|content|>Hi"});
}

TEST(AnswerGrammar, AMessageToAFunctionOfHarmonyIsACall) {
  const std::string thought = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant";
  const std::string preamble = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant";
  const std::string call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"x\"}";
  expect_answers("openai",
                 {{"<|channel|>final<|message|>Hi", 0},
                  {thought + "<|channel|>final<|message|>Hi {to=functions.f}", 0},
                  {call, 1},
                  {thought + preamble + call + "<|call|>", 1},
                  {" to=functions.now<|channel|>commentary json<|message|>{}", 1},
                  {"<|channel|>analysis to=functions.now<|message|>{}", 1}},
                 {"", "Hi", thought, "<|channel|>commentary to=functions.g<|message|>{}",
                  "<|channel|>commentary to=functions.f<|message|>{\"a\": 1}", call + "Hi"});
}

TEST(AnswerGrammar, ThoughtsWordsAndCallsOfSolarAreMessages) {
  const std::string thought = "<|think|>Hm<|end|><|begin|>assistant";
  const std::string call = "<|tool_call:begin|>a1<|tool_call:name|>f<|tool_call:args|>{\"a\": \"x\"}<|tool_call:end|>";
  const std::string now = "<|tool_call:begin|>b2<|tool_call:name|>now<|tool_call:args|>{}<|tool_call:end|>";
  expect_answers("solar_open",
                 {{"<|content|>Hi", 0},
                  {thought + "<|content|>Hi <b><|flush|>", 0},
                  {"<|tool_calls|>" + call, 1},
                  {thought + "<|tool_calls|>" + call + now + "<|calls|>", 2},
                  {thought + "<|content|>I look.<|end|><|begin|>assistant<|tool_calls|>" + now, 1}},
                 {"", "Hi", thought, "<|tool_calls|>", "<|tool_calls|><|tool_call:begin|>a<|tool_call:name|>g",
                  "<|tool_calls|>" + call + "Hi"});
}

// Text, text and a call, two calls; then what neither is: a call of no tool, an argument of another type, a marker
// alone.
TEST(AnswerGrammar, FormatsWithMarkersLetTextAndCallsThrough) {
  struct Spelling {
    std::string format, f, now, two, wrong_name, wrong_type, marker;
  };
  const std::vector<Spelling> kSpellings = {
      {"seed_oss", "<seed:tool_call>\n<function=f>\n<parameter=a>x</parameter>\n</function>\n</seed:tool_call>",
       "<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>", "", "<seed:tool_call>\n<function=g>\n",
       "<seed:tool_call>\n<function=f>\n</function>\n</seed:tool_call>", "<seed:tool_call>"},
      {"minimax_m2",
       "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">x</parameter>\n</invoke>\n</minimax:tool_call>",
       "<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
       "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">x</parameter>\n</invoke>\n<invoke "
       "name=\"now\">\n</invoke>\n</minimax:tool_call>",
       "<minimax:tool_call>\n<invoke name=\"g\">\n", "<minimax:tool_call>\n<invoke name=\"f\">\n</invoke>\n",
       "<minimax:tool_call>"},
      {"mimo", "<tool_call>\n<function=f>\n<parameter=a>x</parameter>\n</function>\n</tool_call>",
       "<tool_call><function=now></function></tool_call>", "", "<tool_call>\n<function=g>\n",
       "<tool_call>\n<function=f>\n</function>", "<tool_call>"},
      {"hy_v3_preview",
       "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>\n</"
       "tool_calls>",
       "<tool_calls>\n<tool_call>now<tool_sep>\n</tool_call>\n</tool_calls>",
       "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>\n"
       "<tool_call>now<tool_sep>\n</tool_call>\n</tool_calls>",
       "<tool_calls>\n<tool_call>g<tool_sep>\n", "<tool_calls>\n<tool_call>f<tool_sep>\n</tool_call>", "<tool_calls>"},
      {"hy_v3",
       "<tool_calls:opensource>\n<tool_call:opensource>f<tool_sep:opensource>\n<arg_key:opensource>a"
       "</arg_key:opensource>\n<arg_value:opensource>x</arg_value:opensource>\n</tool_call:opensource>\n"
       "</tool_calls:opensource>",
       "<tool_calls:opensource>\n<tool_call:opensource>now<tool_sep:opensource>\n</tool_call:opensource>\n"
       "</tool_calls:opensource>",
       "<tool_calls:opensource>\n<tool_call:opensource>now<tool_sep:opensource>\n</tool_call:opensource>\n"
       "<tool_call:opensource>now<tool_sep:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>",
       "<tool_calls:opensource>\n<tool_call:opensource>g", "<tool_calls:opensource>\n<tool_calls>",
       "<tool_calls:opensource>"},
      {"apertus", R"(<|tools_prefix|>[{"f": {"a": "x"}}]<|tools_suffix|>)",
       R"(<|tools_prefix|>[{"now": {}}]<|tools_suffix|>)",
       R"(<|tools_prefix|>[{"f": {"a": "x"}}, {"now": {}}]<|tools_suffix|>)",
       R"(<|tools_prefix|>[{"g": {}}]<|tools_suffix|>)", R"(<|tools_prefix|>[{"f": {"a": 1}}]<|tools_suffix|>)",
       "<|tools_prefix|>"},
      {"olmo3", "<function_calls>\nf(a=\"x\")\n</function_calls>", "<function_calls>now()</function_calls>",
       "<function_calls>\nf(a=\"x\")\nnow()\n</function_calls>", "<function_calls>\ng()\n</function_calls>",
       "<function_calls>\nf(a=1)\n</function_calls>", "<function_calls>"},
      {"nemotron", R"(<TOOLCALL>[{"name": "f", "arguments": {"a": "x"}}]</TOOLCALL>)",
       R"(<TOOLCALL>[{"name": "now", "arguments": {}}]</TOOLCALL>)",
       R"(<TOOLCALL>[{"name": "f", "arguments": {"a": "x"}}, {"name": "now", "arguments": {}}]</TOOLCALL>)",
       R"(<TOOLCALL>[{"name": "g", "arguments": {}}]</TOOLCALL>)",
       R"(<TOOLCALL>[{"name": "f", "arguments": {"a": 1}}]</TOOLCALL>)", "<TOOLCALL>"},
      {"nemotron_mini", R"(<toolcall> {"name": "f", "arguments": {"a": "x"}} </toolcall>)",
       R"(<toolcall> {"name": "now", "arguments": {}} </toolcall>)", "",
       R"(<toolcall> {"name": "g", "arguments": {}} </toolcall>)",
       R"(<toolcall> {"name": "f", "arguments": {"a": 1}} </toolcall>)", "<toolcall>"},
      {"granite_20b_fc", R"(<function_call> {"name": "f", "arguments": {"a": "x"}})",
       R"(<function_call> {"name": "now", "arguments": {}})", "", R"(<function_call> {"name": "g", "arguments": {}})",
       R"(<function_call> {"name": "f", "arguments": {"a": 1}})", "<function_call>"},
      {"functiongemma", "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>",
       "<start_function_call>call:now{}<end_function_call>",
       "<start_function_call>call:f{a:<escape>x {,}<escape>}<end_function_call><start_function_call>call:now{}"
       "<end_function_call>",
       "<start_function_call>call:g{}<end_function_call>", "<start_function_call>call:f{a:1}<end_function_call>",
       "<start_function_call>"},
      {"command_r", "Action: ```json\n[{\"tool_name\": \"f\", \"parameters\": {\"a\": \"x\"}}]\n```",
       "Action:```json\n[{\"tool_name\": \"now\", \"parameters\": {}}]```",
       "Action: ```json\n[{\"tool_name\": \"f\", \"parameters\": {\"a\": \"x\"}}, {\"tool_name\": \"now\", "
       "\"parameters\": {}}]```",
       "Action: ```json\n[{\"tool_name\": \"g\", \"parameters\": {}}]```",
       "Action: ```json\n[{\"tool_name\": \"f\", \"parameters\": {\"a\": 1}}]```", "Action: ```json"},
  };
  for (const Spelling& one : kSpellings) {
    std::vector<Said> fit = {{"", 0}, {"Hi [1] {\"a\": 1}", 0}, {one.f, 1}, {one.now, 1}, {"Well. " + one.f, 1}};
    fit.push_back({one.two.empty() ? one.f + "\n" + one.now : one.two, 2});
    expect_answers(one.format, fit,
                   {one.marker, one.marker + "Hi", one.wrong_name, one.wrong_type, one.marker + one.marker});
  }
}

TEST(AnswerGrammar, ALineWithAFunctionsNameBeginsACallOfGlm) {
  expect_answers("glm4",
                 {{"\nHi", 0},
                  {"Hi\nthere", 0},
                  {"now\nor later", 0},
                  {"f\n{\"a\": \"x\"}", 1},
                  {"f\n{\"a\": \"x\"}<|assistant|>now\n{}", 2},
                  {"\nI look.<|assistant|>now\n{}", 1}},
                 {"f\n{\"a\": 1}", "g\n{}<|assistant|>", "\nHi<|assistant|>Hi"});
}

TEST(AnswerGrammar, AMessageToAFunctionOfMuseGlimmerIsACall) {
  const std::string thought = " to=self<|message|>Hm<|eom|><|start|>assistant";
  const std::string open = "<atem:function_calls>\n<atem:invoke name=\"",
                    close = "</atem:invoke>\n</atem:function_calls>";
  const std::string call = " to=f<|message|>" + open + "f\">\n<atem:parameter name=\"a\">x</atem:parameter>\n" + close;
  const std::string now = " to=now<|message|>" + open + "now\">\n" + close;
  expect_answers("muse_glimmer",
                 {{" to=user<|message|>Hi", 0},
                  {thought + " to=user<|message|>Hi <b>", 0},
                  {call, 1},
                  {thought + call + "<|eom|><|start|>assistant" + now, 2},
                  {thought + " to=user<|message|>I look.<|eom|><|start|>assistant" + now + "<|eot|>", 1}},
                 {"", "Hi", thought, " to=f<|message|>Hi", " to=g<|message|>" + open + "g\">\n" + close,
                  " to=f<|message|>" + open + "f\">\n" + close});
}

TEST(AnswerGrammar, ALineOfHyperClovaSaysThatCallsFollow) {
  const std::string thought = "/think\nHm<|im_end|>\n<|im_start|>assistant";
  const std::string calls =
      " -> tool/function_call\n[{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}, {\"name\": \"now\", "
      "\"arguments\": {}}]";
  expect_answers("hyperclovax",
                 {{"\nHi", 0},
                  {thought + "\nHi<|im_end|>", 0},
                  {calls, 2},
                  {thought + calls + "<|im_end|>", 2},
                  {"\nI look.<|im_end|>\n<|im_start|>assistant" + calls, 2}},
                 {"", "Hi", thought, " -> tool/function_call\n[]", " -> tool/function_call\nHi",
                  " -> tool/function_call\n[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]"});
}

TEST(AnswerGrammar, AnAnswerBehindReasoningMayStandBetweenTheWordsForIt) {
  const Answers answers("hunyuan", Choice::kRequired, "hunyuan");
  const std::string call = R"(<tool_calls>[{"name": "now", "arguments": {}}]</tool_calls>)";
  for (const std::string& text : {call, "<think>a</think>\n" + call, "<answer>" + call + "</answer>",
                                  "<think>a</think>\n<answer>\n" + call + "\n</answer>"}) {
    EXPECT_TRUE(answers.fit(text)) << text;
    EXPECT_EQ(answers.calls_in(text), 1u) << text;
  }
  EXPECT_FALSE(answers.fit("<answer>" + call));
  EXPECT_FALSE(answers.fit("<think>a</think>\n<answer>\nHi\n</answer>"));
}

TEST(AnswerGrammar, ADemandedCallIsOneWithItsMarkersOrWithout) {
  const Answers llama("llama3_json", Choice::kRequired);
  const std::string now = R"({"name": "now", "parameters": {}})";
  EXPECT_TRUE(llama.fit(now));
  EXPECT_TRUE(llama.fit("<|python_tag|>" + now));
  EXPECT_FALSE(llama.fit("Hi <|python_tag|>" + now));
}

}  // namespace
}  // namespace millrace::server
