// What models write, and what becomes of it: whole, and cut in every way.

#include <gtest/gtest.h>

#include <random>

#include "chat/answer_reader.h"
#include "chat/tools/testing/tool_answers.h"

namespace millrace::chat::tools {
namespace {

ToolUse weather_tools() {
  const Json weather = Json::parse(R"({"type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "units": {"enum": ["c", "f"]}, "hours": {"type": "array"}},
      "required": ["city"]})");
  return {.choice = ToolUse::Choice::kAuto,
          .tools = {{.name = "get_weather", .parameters = weather}, {.name = "now", .parameters = nullptr}}};
}

AnswerParts joined(const std::vector<PartEvent>& events) {
  AnswerParts parts;
  for (const PartEvent& event : events) add_event(parts, event);
  for (ToolCall& call : parts.calls) call.id.clear();
  return parts;
}

// In pieces that end where `cuts` says; the calls' ids left out.
AnswerParts read(const AnswerReading& reading, const std::string& text, const std::vector<std::size_t>& cuts) {
  const ToolUse use = weather_tools();
  AnswerReader reader(reading, use, 0);
  std::vector<PartEvent> events;
  std::size_t at = 0;
  for (const std::size_t cut : cuts) {
    append_events(events, reader.push(std::string_view(text).substr(at, cut - at), false));
    at = cut;
  }
  append_events(events, reader.push(std::string_view(text).substr(at), true));
  // A call is begun, gets its arguments and ends before the next thing is said.
  std::size_t calls = 0;
  bool open = false;
  for (const PartEvent& event : events) {
    using enum PartEvent::Kind;
    EXPECT_EQ(open, event.kind == kCallArguments || event.kind == kCallEnd);
    if (event.kind == kCallBegin) {
      EXPECT_EQ(event.call, calls);
      ++calls;
    }
    if (event.kind == kCallBegin || event.kind == kCallEnd) open = !open;
  }
  EXPECT_FALSE(open);
  return joined(events);
}

AnswerParts expected(const Sample& sample) {
  AnswerParts parts{.content = sample.content, .reasoning = sample.reasoning, .calls = {}};
  for (const auto& [name, arguments] : sample.calls) {
    parts.calls.push_back({.id = {}, .name = name, .arguments = arguments});
  }
  return parts;
}

AnswerReading reading_of(const Sample& sample) {
  AnswerReading reading;
  if (!sample.format.empty()) reading.tools = find_tool_format(sample.format).or_throw();
  if (!sample.reasoning_format.empty()) {
    reading.reasoning = reasoning::find_reasoning_format(sample.reasoning_format).or_throw();
  }
  return reading;
}

class ToolParsers : public testing::TestWithParam<Sample> {};

TEST_P(ToolParsers, TakeAnAnswerApart) {
  EXPECT_EQ(read(reading_of(GetParam()), GetParam().text, {}), expected(GetParam()));
}

TEST_P(ToolParsers, GiveTheSamePartsHoweverTheTextIsCut) {
  const AnswerReading reading = reading_of(GetParam());
  const std::string& text = GetParam().text;
  std::vector<std::size_t> each;
  for (std::size_t i = 1; i < text.size(); ++i) each.push_back(i);
  const AnswerParts parts = expected(GetParam());
  EXPECT_EQ(read(reading, text, each), parts);
  for (const std::size_t cut : each) EXPECT_EQ(read(reading, text, {cut}), parts) << "cut at " << cut;
}

INSTANTIATE_TEST_SUITE_P(Samples, ToolParsers, testing::ValuesIn(samples()));

// Whatever a model writes, no parser throws, the cuts do not matter and nothing is said in the wrong order.
TEST(ToolParsers, GiveTheSamePartsOfMutatedAnswersHoweverTheyAreCut) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (const Sample& sample : samples()) {
    for (const ToolFormat& format : all_tool_formats()) {
      AnswerReading reading = reading_of(sample);
      reading.tools = &format;
      for (int round = 0; round < 10; ++round) {
        std::string text = sample.text;
        for (std::size_t change = below(3); change > 0; --change) {
          const std::size_t at = below(text.size());
          if (below(2) == 0)
            text.erase(at, 1 + below(4));
          else
            text.insert(at, 1, "{}[]\"'<>:,\\ a1\n"[below(15)]);
          if (text.empty()) text = "x";
        }
        std::vector<std::size_t> cuts;
        for (std::size_t at = 1 + below(5); at < text.size(); at += 1 + below(9)) cuts.push_back(at);
        EXPECT_EQ(read(reading, text, {}), read(reading, text, cuts)) << format.name << ": " << text;
      }
    }
  }
}

TEST(AnswerReader, GivesCallsIdsThatTheirFormatTakesBack) {
  const ToolUse use = weather_tools();
  const auto id_in = [&](const char* format, const std::string& text, std::size_t answer) {
    const AnswerReading reading{.tools = find_tool_format(format).or_throw(), .id_seed = "request"};
    AnswerReader reader(reading, use, answer);
    std::vector<PartEvent> events;
    append_events(events, reader.push(text, true));
    return events.at(0).id;
  };
  const std::string call = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
  EXPECT_TRUE(id_in("hermes", call, 0).starts_with("call_"));
  EXPECT_EQ(id_in("hermes", call, 0), id_in("hermes", call, 0));
  EXPECT_NE(id_in("hermes", call, 0), id_in("hermes", call, 1));
  EXPECT_EQ(id_in("mistral", "[TOOL_CALLS]now{}", 0).size(), 9u);
  EXPECT_EQ(id_in("kimi_k2", "<|tool_call_begin|>functions.now:3<|tool_call_argument_begin|>{}<|tool_call_end|>", 0),
            "functions.now:0");
}

TEST(AnswerReader, SaysNothingOfAMarkerUntilItIsNone) {
  const ToolUse use = weather_tools();
  const AnswerReading reading{.tools = find_tool_format("hermes").or_throw(), .id_seed = ""};
  AnswerReader reader(reading, use, 0);
  std::vector<PartEvent> events;
  append_events(events, reader.push("a<tool_ca", false));
  EXPECT_EQ(joined(events).content, "a");
  append_events(events, reader.push("rt", false));
  EXPECT_EQ(joined(events).content, "a<tool_cart");
}

TEST(AnswerReader, StreamsArgumentsAsTheyCome) {
  const ToolUse use = weather_tools();
  const AnswerReading reading{.tools = find_tool_format("hermes").or_throw(), .id_seed = ""};
  AnswerReader reader(reading, use, 0);
  std::vector<PartEvent> events;
  append_events(events, reader.push(R"(<tool_call>{"name": "get_weather", "arguments": {"city": "Pa)", false));
  EXPECT_EQ(joined(events).calls.at(0).arguments, R"({"city": "Pa)");
}

TEST(AnswerReader, BeginsInReasoningThatThePromptHasOpened) {
  const ToolUse use = weather_tools();
  for (const std::string text : {"Hm.</think>4", "<think>Hm.</think>4", "\n<think>\nHm.\n</think>\n\n4"}) {
    const AnswerReading reading{.reasoning = reasoning::find_reasoning_format("deepseek_r1").or_throw(),
                                .reasoning_begun = true,
                                .id_seed = ""};
    EXPECT_EQ(read(reading, text, {}), (AnswerParts{.content = "4", .reasoning = "Hm.", .calls = {}})) << text;
    EXPECT_EQ(read(reading, text, {3, 5, 9}), read(reading, text, {})) << text;
  }
}

TEST(ToolFormats, AreFoundByNameAndByAlias) {
  EXPECT_EQ(find_tool_format("hermes").or_throw()->name, "hermes");
  EXPECT_EQ(find_tool_format("qwen3_xml").or_throw()->name, "qwen3_coder");
  EXPECT_NE(find_tool_format("nobody").error().message.find("llama3_json"), std::string::npos);
}

}  // namespace
}  // namespace millrace::chat::tools
