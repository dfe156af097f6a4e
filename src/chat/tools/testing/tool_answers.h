#pragma once

// For tests: what models write in each format, and the parts that it has.

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace millrace::chat::tools {

struct Sample {
  std::string format, text, content;
  std::vector<std::pair<std::string, std::string>> calls;  // names and arguments
  std::string reasoning = {}, reasoning_format = {};
};

inline void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.format << ": " << sample.text; }

inline const std::vector<Sample>& samples() {
  static const std::string kParis = R"({"city": "Paris"})", kRome = R"({"city": "Rome", "days": 2})";
  static const std::vector<Sample> all = {
      {"hermes",
       R"(<tool_call>
{"name": "get_weather", "arguments": {"city": "Paris"}}
</tool_call>)",
       "",
       {{"get_weather", kParis}}},
      {"hermes",
       R"(I will look.

<tool_call>{"arguments": {"city": "Paris"}, "name": "get_weather"}</tool_call>
<tool_call>
{"name": "now", "arguments": {}}
</tool_call>
)",
       "I will look.",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"hermes",
       R"(<tool_call>{"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}</tool_call> Done.)",
       " Done.",
       {{"get_weather", kParis}}},
      {"hermes", R"(<tool_call>{"id": 7, "name": "now"}</tool_call>)", "", {{"now", "{}"}}},
      {"hermes",
       R"(<tool_call>[{"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]</tool_call>)",
       "",
       {{"now", "{}"}, {"now", "{}"}}},
      {"hermes",
       "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"a\nb\"}}</tool_call>",
       "",
       {{"get_weather", R"({"city": "a\nb"})"}}},
      {"hermes", "a <tool_cal b < <tool_call", "a <tool_cal b < <tool_call", {}},
      {"hermes", "<tool_call>not json</tool_call>", "<tool_call>not json</tool_call>", {}},
      {"hermes",
       R"(<tool_call>{"arguments": {"city": "Paris"}}</tool_call>)",
       R"(<tool_call>{"arguments": {"city": "Paris"}}</tool_call>)",
       {}},
      {"hermes",
       R"(<tool_call>{"name": "get_weather", "arguments": {"city": "Par)",
       "",
       {{"get_weather", R"({"city": "Par)"}}},
      {"hermes",
       R"(<tool_call>{"name": "get_weather", "arguments": {"city": nothing}}</tool_call>)",
       "othing}}</tool_call>",
       {{"get_weather", R"({"city": n)"}}},
      {"hermes", "plain text, trailing space \n", "plain text, trailing space \n", {}},
      {"llama3_json", R"({"name": "get_weather", "parameters": {"city": "Paris"}})", "", {{"get_weather", kParis}}},
      {"llama3_json",
       R"(<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris"}}; {"name": "now", "parameters": {}})",
       "",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"llama3_json", R"({"name": "Bob", "age": 3})", R"({"name": "Bob", "age": 3})", {}},
      {"llama3_json", R"( [1, 2])", R"( [1, 2])", {}},
      {"llama3_json", "Hello {", "Hello {", {}},
      {"mistral",
       R"([TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "now", "arguments": {}}])",
       "",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"mistral",
       R"(Sure.[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]now[CALL_ID]123456789[ARGS]{})",
       "Sure.",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"mistral", R"([TOOL_CALLS]get_weather{"city": "Paris"})", "", {{"get_weather", kParis}}},
      {"granite",
       R"(<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}])",
       "",
       {{"get_weather", kParis}}},
      {"phi4_mini_json",
       R"(<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]<|/tool_call|>)",
       "",
       {{"get_weather", kParis}}},
      {"phi4_mini_json",
       R"(functools[{"name": "get_weather", "arguments": {"city": "Paris"}}])",
       "",
       {{"get_weather", kParis}}},
      {"jamba",
       R"(<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</tool_calls>)",
       "",
       {{"get_weather", kParis}}},
      {"command_r7b",
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": "
       "\"Paris\"}}\n]<|END_ACTION|>",
       "",
       {{"get_weather", kParis}}},
      {"deepseek_v3",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": "
       "\"Paris\"}\n```"
       "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>",
       "",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"deepseek_v31",
       "Let me see.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Paris\"}"
       "<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "Let me see.",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"kimi_k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": "
       "\"Paris\"}<|tool_call_end|><|tool_calls_section_end|>",
       "",
       {{"get_weather", kParis}}},
      {"functionary_v3_1", R"(<function=get_weather>{"city": "Paris"}</function>)", "", {{"get_weather", kParis}}},
      {"functionary_v3",
       "all\nI will look.\n>>>get_weather\n{\"city\": \"Paris\"}",
       "I will look.",
       {{"get_weather", kParis}}},
      {"functionary_v3", "get_weather\n{\"city\": \"Paris\"}>>>now\n{}", "", {{"get_weather", kParis}, {"now", "{}"}}},
      {"functionary_v3", "Hello\nthere", "Hello\nthere", {}},
      {"functionary_v2",
       "all\n<|content|>Hm.\n<|from|>assistant\n<|recipient|>get_weather\n<|content|>{\"city\": \"Paris\"}",
       "Hm.",
       {{"get_weather", kParis}}},
      {"qwen3_coder",
       R"(I look.
<tool_call>
<function=get_weather>
<parameter=city>
Rome
</parameter>
<parameter=days>
2
</parameter>
</function>
</tool_call>)",
       "I look.",
       {{"get_weather", kRome}}},
      {"qwen3_coder",
       "<tool_call>\n<function=get_weather>\n<parameter=city>\na \"b\"\n\n  </param>\n</parameter>\n<parameter=hours>\n"
       "[1, True]\n</parameter>\n</function>\n</tool_call>",
       "",
       {{"get_weather", R"({"city": "a \"b\"\n\n  </param>", "hours": "[1, True]"})"}}},
      {"qwen3_coder", "<tool_call><function=now></function></tool_call>", "", {{"now", "{}"}}},
      {"glm45",
       "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n<arg_key>days</arg_key>\n"
       "<arg_value>2</arg_value>\n</tool_call>",
       "",
       {{"get_weather", kRome}}},
      {"glm45", "ok <tool_call>now</tool_call><tool_call>now</tool_call>", "ok", {{"now", "{}"}, {"now", "{}"}}},
      {"minimax_m2",
       "I look.\n<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Rome</parameter>\n"
       "<parameter name=\"days\">2</parameter>\n</invoke>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
       "I look.",
       {{"get_weather", kRome}, {"now", "{}"}}},
      {"minimax_m2",
       "<minimax:tool_call><invoke name=\"get_weather\"><parameter name=\"city\">\na \"b\" </parameter </parameter>"
       "<parameter name=\"hours\">[1, {\"a\": null}]</parameter></invoke></minimax:tool_call> Done.",
       " Done.",
       {{"get_weather", R"({"city": "\na \"b\" </parameter ", "hours": [1,{"a":null}]})"}}},
      {"minimax_m2", "<minimax:tool_call>\n</minimax:tool_call>", "<minimax:tool_call>\n</minimax:tool_call>", {}},
      {"minimax_m2", "<minimax:tool_call>\n<invoke nam", "<minimax:tool_call>\n<invoke nam", {}},
      {"minimax_m2", "<invoke name=\"now\"></invoke>", "<invoke name=\"now\"></invoke>", {}},
      {"minimax_m2",
       "<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n<invoke name=\"get_weather\">\n<parameter "
       "name=\"city\">Ro",
       "",
       {{"now", "{}"}, {"get_weather", R"({"city": "Ro)"}}},
      {"minimax_m2", "<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\nBye", "Bye", {{"now", "{}"}}},
      {"minimax_m2",
       "<think>a</think>\n\nI look.\n<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
       "I look.",
       {{"now", "{}"}},
       "a",
       "minimax_m2"},
      {"mimo",
       "<tool_call>\n<function=get_weather>\n<parameter=city>Rome</parameter>\n<parameter=days>2</parameter>\n"
       "</function>\n</tool_call><tool_call><function=get_weather><parameter=city>\nx\n</parameter></function>"
       "</tool_call>",
       "",
       {{"get_weather", kRome}, {"get_weather", R"({"city": "\nx\n"})"}}},
      {"mimo", "a < <tool_call>\n<functio", "a < <tool_call>\n<functio", {}},
      {"hy_v3",
       "I look.<tool_calls:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n<arg_key:opensource>"
       "city</arg_key:opensource>\n<arg_value:opensource>Rome</arg_value:opensource>\n<arg_key:opensource>days"
       "</arg_key:opensource>\n<arg_value:opensource>2</arg_value:opensource>\n</tool_call:opensource>\n"
       "<tool_call:opensource>now<tool_sep:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>",
       "I look.",
       {{"get_weather", kRome}, {"now", "{}"}}},
      {"hy_v3", "<tool_calls>\n<tool_call>now<tool_sep>", "<tool_calls>\n<tool_call>now<tool_sep>", {}},
      {"hy_v3",
       "<think:opensource>a</think:opensource><tool_calls:opensource>\n<tool_call:opensource>now<tool_sep:opensource>\n"
       "</tool_call:opensource>\n</tool_calls:opensource>",
       "",
       {{"now", "{}"}},
       "a",
       "hy_v3"},
      {"hy_v3_preview",
       "<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>a\n<b></arg_value>\n"
       "</tool_call>\n</tool_calls>",
       "",
       {{"get_weather", R"({"city": "a\n<b>"})"}}},
      {"hy_v3_preview", "<tool_calls>\n<tool_call>n", "<tool_calls>\n<tool_call>n", {}},
      {"glm45",
       "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome</arg_value><arg_key>days</arg_key>"
       "<arg_value>2</arg_value></tool_call>",
       "",
       {{"get_weather", kRome}}},
      {"solar_open",
       "<|think|>A call.<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>a1<|tool_call:name|>get_weather"
       "<|tool_call:args|>{\"city\": \"Paris\"}<|tool_call:end|><|tool_call:begin|>b2<|tool_call:name|>now"
       "<|tool_call:args|>{}<|tool_call:end|><|calls|>",
       "",
       {{"get_weather", kParis}, {"now", "{}"}},
       "A call."},
      {"solar_open", "<|think|>a <b<|end|><|begin|>assistant<|content|>4 <c<|flush|>", "4 <c", {}, "a <b"},
      {"solar_open",
       "<|content|>I look.<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>get_weather"
       "<|tool_call:args|>{\"city\": \"Par",
       "I look.",
       {{"get_weather", R"({"city": "Par)"}}},
      {"solar_open", "No head", "No head", {}},
      {"solar_open", "<|think|>cut shor", "", {}, "cut shor"},
      {"pythonic", R"([get_weather(city='Paris'), now()])", "", {{"get_weather", kParis}, {"now", "{}"}}},
      {"pythonic",
       R"([get_weather(city="It's", days=2, hours=[1, (True, None), {'a': -1.5}])])",
       "",
       {{"get_weather", R"({"city": "It's", "days": 2, "hours": [1, [true, null], {"a": -1.5}]})"}}},
      {"pythonic", "[1, 2]", "[1, 2]", {}},
      {"pythonic", "[foo(a=1)]", "[foo(a=1)]", {}},
      {"llama4_pythonic",
       R"(<|python_start|>[get_weather(city="Paris")]<|python_end|>)",
       "",
       {{"get_weather", kParis}}},
      {"seed_oss",
       "I look.\n<seed:tool_call>\n<function=get_weather>\n<parameter=city>Rome</parameter>\n<parameter=days>2"
       "</parameter>\n</function>\n</seed:tool_call>",
       "I look.",
       {{"get_weather", kRome}}},
      {"seed_oss",
       "<seed:tool_call>\n<function=get_weather>\n<parameter=city>a\n\"b\"\n</parameter>\n</function>\n"
       "</seed:tool_call>\n<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>",
       "",
       {{"get_weather", R"({"city": "a\n\"b\"\n"})"}, {"now", "{}"}}},
      {"apertus",
       R"(Hm.<|tools_prefix|>[{"get_weather": {"city": "Paris"}}, {"now": {}}]<|tools_suffix|>)",
       "Hm.",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"apertus",
       R"(<|tools_prefix|> [ { "get_weather" : {"city": "Paris"} } ] <|tools_suffix|>)",
       "",
       {{"get_weather", kParis}}},
      {"apertus", R"({"now": {}})", R"({"now": {}})", {}},
      {"apertus", "<|tools_prefix|>[now]<|tools_suffix|>", "<|tools_prefix|>[now]<|tools_suffix|>", {}},
      {"olmo3",
       "I look.\n<function_calls>\nget_weather(city='Paris')\nnow()\n</function_calls>",
       "I look.",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"olmo3",
       "<function_calls>get_weather(city=\"Rome\", hours=[1, true, null])</function_calls>",
       "",
       {{"get_weather", R"({"city": "Rome", "hours": [1, true, null]})"}}},
      {"olmo3", "[now()]", "[now()]", {}},
      {"olmo3", "<function_calls>\n</function_calls>", "<function_calls>\n</function_calls>", {}},
      {"olmo3", "<function_calls>\nnow()\nand so on", "and so on", {{"now", "{}"}}},
      {"nemotron",
       R"(<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "now", "arguments": {}}]</TOOLCALL>)",
       "",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"nemotron_mini",
       R"(<toolcall> {"name": "get_weather", "arguments": {"city": "Paris"}} </toolcall>)",
       "",
       {{"get_weather", kParis}}},
      {"granite_20b_fc",
       R"(<function_call> {"name": "get_weather", "arguments": {"city": "Paris"}} <function_call> {"name": "now", "arguments": {}})",
       "",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"command_r",
       "I look.\nAction: ```json\n[\n    {\n        \"tool_name\": \"get_weather\",\n        \"parameters\": "
       "{\"city\": "
       "\"Paris\"}\n    }\n]```",
       "I look.",
       {{"get_weather", kParis}}},
      {"command_r", "Action: none", "Action: none", {}},
      {"glm4", "get_weather\n{\"city\": \"Paris\"}", "", {{"get_weather", kParis}}},
      {"glm4", "get_weather\n{\"city\": \"Paris\"}<|assistant|>now\n{}", "", {{"get_weather", kParis}, {"now", "{}"}}},
      {"glm4", "\nHello\nthere", "Hello\nthere", {}},
      {"glm4", "now\nor later", "now\nor later", {}},
      {"glm4", "\nI look.<|assistant|>now\n{}", "I look.", {{"now", "{}"}}},
      {"hunyuan_a13b", R"(<tool_calls>[{"name": "now", "arguments": {}}]</tool_calls>)", "", {{"now", "{}"}}},
      {"functiongemma",
       "I look.<start_function_call>call:get_weather{city:<escape>Rome<escape>,days:2}<end_function_call>"
       "<start_function_call>call:now{}<end_function_call>",
       "I look.",
       {{"get_weather", kRome}, {"now", "{}"}}},
      {"functiongemma",
       "<start_function_call>call:get_weather{city:<escape>a {\"b\"},\n<escap<escape>,hours:[1,<escape>x<escape>,"
       "{<escape>k<escape>:true}],units:c}<end_function_call>",
       "",
       {{"get_weather", R"({"city": "a {\"b\"},\n<escap", "hours": [1, "x", {"k": true}], "units": "c"})"}}},
      {"functiongemma", "<start_function_call>print(1)", "<start_function_call>print(1)", {}},
      {"functiongemma", "<start_function_call>call:now{a]b", "]b", {{"now", "{"}}},
      {"muse_glimmer",
       " to=self<|message|>Hm.<|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke "
       "name=\"get_weather\">\n<atem:parameter name=\"city\">Rome</atem:parameter>\n<atem:parameter name=\"days\">2"
       "</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant to=now<|message|>"
       "<atem:function_calls>\n<atem:invoke name=\"now\">\n</atem:invoke>\n</atem:function_calls><|eot|>",
       "",
       {{"get_weather", kRome}, {"now", "{}"}},
       "Hm."},
      {"muse_glimmer",
       " to=self<|message|>a <b\n<|eom|><|start|>assistant to=user<|message|>4 <c<|eot|>",
       "4 <c",
       {},
       "a <b\n"},
      {"muse_glimmer",
       " to=now<|message|><atem:function_calls>\n<atem:invoke name=\"now\">\n<atem:parameter "
       "name=\"x\">1<|eom|><|start|>"
       "assistant to=user<|message|>b",
       "b",
       {{"now", R"({"x": )"}}},
      {"muse_glimmer", "No head", "No head", {}},
      {"hyperclovax",
       "/think\nHm.\nSo.<|im_end|>\n<|im_start|>assistant -> tool/function_call\n[{\"name\": \"get_weather\", "
       "\"arguments\": "
       "{\"city\": \"Paris\"}}, {\"name\": \"now\", \"arguments\": {}}]<|im_end|>",
       "",
       {{"get_weather", kParis}, {"now", "{}"}},
       "Hm.\nSo."},
      {"hyperclovax", "\nIt is 4.<|im_end|>", "It is 4.", {}},
      {"hyperclovax", "It is 4.", "It is 4.", {}},
      {"hyperclovax",
       "\nI look.<|im_end|>\n<|im_start|>assistant -> tool/function_call\n[{\"name\": \"now\", \"arguments\": {}}]",
       "I look.",
       {{"now", "{}"}}},
      {"openai",
       "<|channel|>analysis<|message|>Weather? A call.<|end|><|start|>assistant<|channel|>commentary "
       "to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
       "",
       {{"get_weather", kParis}},
       "Weather? A call."},
      {"openai",
       "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>4",
       "4",
       {},
       "Easy."},
      {"openai",
       "<|channel|>analysis<|message|>a<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary "
       "<|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
       "",
       {{"get_weather", kParis}},
       "a"},
      {"openai", " to=functions.now<|channel|>commentary json<|message|>{}<|call|>", "", {{"now", "{}"}}},
      {"openai",
       "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
       "json<|message|>{\"city\": \"Paris\"}<|call|><|start|>assistant<|channel|>commentary to=functions.now "
       "<|message|>{}<|call|>",
       "I look.",
       {{"get_weather", kParis}, {"now", "{}"}}},
      {"openai",
       "<|channel|>analysis<|message|>a <|en<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
       "b",
       {},
       "a <|en"},
      {"openai",
       "<|channel|>commentary to=functions.get_weather json<|message|>{\"city\": \"Par",
       "",
       {{"get_weather", R"({"city": "Par)"}}},
      {"openai", "<|channel|>analysis<|message|>cut shor", "", {}, "cut shor"},
      {"openai",
       "<|channel|>commentary to=python code<|message|>print(1)<|call|><|start|>assistant<|channel|>final<|message|>1",
       "1",
       {},
       "print(1)"},
      {"openai", "No head", "No head", {}},
      {"generic", R"({"name": "now", "arguments": {}})", "", {{"now", "{}"}}},
      {"generic", R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)", "", {{"now", "{}"}}},
      {"", "<think>\nHm, 2 + 2.\n\nYes.\n</think>\n\nIt is 4.", "It is 4.", {}, "Hm, 2 + 2.\n\nYes.", "deepseek_r1"},
      {"", "It is 4. <think>no</think>", "It is 4. <think>no</think>", {}, "", "deepseek_r1"},
      {"", "\n<think", "\n<think", {}, "", "deepseek_r1"},
      {"", "<think>cut shor", "", {}, "cut shor", "qwen3"},
      {"", "[THINK]a[/THINK]b", "b", {}, "a", "mistral"},
      {"", "<|inner_prefix|>a<|inner_suffix|>b", "b", {}, "a", "apertus"},
      {"", "<think>\na\n</think>\n<answer>\nb <c>\n\nd\n</answer>", "b <c>\n\nd", {}, "a", "hunyuan"},
      {"", "<think>a</think>b <answer>", "b <answer>", {}, "a", "hunyuan"},
      {"", "<answer>\nb\n</answer>\n", "b", {}, "", "hunyuan_a13b"},
      {"", "<think>a</think>\n<answer>\nb\n</ans", "b\n</ans", {}, "a", "hunyuan"},
      {"", "<think>a</think>\n<ans", "<ans", {}, "a", "hunyuan"},
      {"", "<think>\na\n</think>\n\n\n<response>\nb\n</response>\n", "b", {}, "a", "ernie45"},
      {"hunyuan",
       "<think>a</think>\n<answer>\nI look.\n<tool_calls>[{\"name\": \"now\", \"arguments\": "
       "{}}]</tool_calls>\n</answer>",
       "I look.",
       {{"now", "{}"}},
       "a",
       "hunyuan"},
      {"hermes",
       "<think>a</think>\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
       "",
       {{"now", "{}"}},
       "a",
       "deepseek_r1"},
  };
  return all;
}

}  // namespace millrace::chat::tools
