// Any text as a model's answer, for the tool format and the reasoning format that the first bytes choose: read whole
// and in pieces it says the same, in an order that clients can follow.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "chat/answer_reader.h"

namespace {

using namespace millrace;
using namespace millrace::chat;

AnswerParts read(const AnswerReading& reading, const chat::tools::ToolUse& use, std::string_view text,
                 std::size_t step) {
  AnswerReader reader(reading, use, 0);
  AnswerParts parts;
  bool in_call = false;
  while (true) {
    const std::string_view piece = text.substr(0, step);
    text.remove_prefix(piece.size());
    for (const PartEvent& event : reader.push(piece, text.empty())) {
      using enum PartEvent::Kind;
      if (in_call != (event.kind == kCallArguments || event.kind == kCallEnd)) std::abort();
      if (event.kind == kCallBegin || event.kind == kCallEnd) in_call = !in_call;
      if (event.kind == kCallBegin && event.call != parts.calls.size()) std::abort();
      add_event(parts, event);
    }
    if (text.empty()) break;
  }
  if (in_call) std::abort();
  return parts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  static const chat::tools::ToolUse use = {
      .choice = chat::tools::ToolUse::Choice::kAuto,
      .tools = {{.name = "f", .parameters = Json::parse(R"({"properties": {"a": {"type": "string"}}})")},
                {.name = "now", .parameters = nullptr}}};
  const auto formats = chat::tools::all_tool_formats();
  const auto thoughts = chat::reasoning::all_reasoning_formats();
  AnswerReading reading{.parts = true, .id_seed = "x"};
  reading.tools = &formats[data[0] % formats.size()];
  if (const std::size_t choice = data[1] % (thoughts.size() + 1); choice > 0) reading.reasoning = &thoughts[choice - 1];
  reading.reasoning_begun = data[2] % 2 == 1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  const AnswerParts whole = read(reading, use, text, text.size() + 1);
  if (read(reading, use, text, 1) != whole || read(reading, use, text, 2u + data[2] % 7) != whole) std::abort();
  return 0;
}
