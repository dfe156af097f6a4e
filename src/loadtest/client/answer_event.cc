#include "loadtest/client/answer_event.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <iterator>

#include "base/strict_json.h"
#include "loadtest/client/event_reader.h"

namespace millrace::loadtest {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t kMaxCauses = 32;  // of an answer; the server may send any number

static_assert(EventReader::kPadding >= simdjson::SIMDJSON_PADDING);

bool read(const object& from, std::string_view key, std::string_view& out) {
  return from[key].get_string().get(out) == simdjson::SUCCESS;
}
void read(const object& from, std::string_view key, std::int64_t& out) {
  std::int64_t value = 0;
  double number = 0.0;
  if (from[key].get_int64().get(value) == simdjson::SUCCESS) {
    if (value >= 0) out = value;
  } else if (from[key].get_double().get(number) == simdjson::SUCCESS && number >= 0.0 && number < 1e15) {
    out = static_cast<std::int64_t>(number);  // a count that a server in Python wrote as 12.0
  }
}
bool read_object(const object& from, std::string_view key, object& out) {
  return from[key].get_object().get(out) == simdjson::SUCCESS;
}

// {"error": {"message": ...}}, {"error": "..."}, {"message": ...} or {"detail": ...}
std::string_view message_of(const object& from) {
  std::string_view message;
  object inner;
  if (read_object(from, "error", inner) && read(inner, "message", message)) return message;
  if (!read(from, "error", message) && !read(from, "message", message)) read(from, "detail", message);
  return message;
}

void read_usage(const object& usage, AnswerEvent& out) {
  read(usage, "prompt_tokens", out.prompt_tokens);
  read(usage, "completion_tokens", out.completion_tokens);
  object details;
  if (read_object(usage, "prompt_tokens_details", details)) read(details, "cached_tokens", out.cached_tokens);
}

void read_server_times(const object& event, ServerTimes& out) {
  object timings;
  if (read_object(event, "timings", timings)) {
    for (const auto& [name, member] : {std::pair{"queue_ms", &out.queue_ms}, std::pair{"prefill_ms", &out.prefill_ms},
                                       std::pair{"decode_ms", &out.decode_ms}}) {
      double ms = 0.0;
      if (timings[name].get_double().get(ms) == simdjson::SUCCESS && ms >= 0.0) *member = ms;
    }
  }
  simdjson::dom::array causes;
  if (event["why_slow"].get_array().get(causes) != simdjson::SUCCESS) return;
  for (const element& one : causes) {
    object cause;
    std::string_view name;
    double ms = 0.0;
    if (one.get_object().get(cause) != simdjson::SUCCESS || !read(cause, "cause", name)) continue;
    if (cause["ms"].get_double().get(ms) != simdjson::SUCCESS || !(ms >= 0.0) || out.causes.size() >= kMaxCauses)
      continue;
    out.causes.push_back({one_line(name, 32), ms});
  }
}

bool filled_array(const object& from, std::string_view key) {
  simdjson::dom::array array;
  return from[key].get_array().get(array) == simdjson::SUCCESS && array.size() > 0;
}

// An event with an empty text that neither ends the answer nor carries usage stands for a token: servers hold back the
// first bytes of a character that is not whole yet, and say with such an event that they go on. vLLM counts them too;
// to leave them out would make a gap between tokens look as long as two. The event that opens a chat with its role is
// none of them: no model has made anything when it is sent.
void read_choice(const object& choice, bool has_usage, AnswerEvent& out) {
  const bool ended = read(choice, "finish_reason", out.finish_reason);
  const bool may_be_empty = !ended && !has_usage;
  object delta;
  if (!read_object(choice, "delta", delta)) {
    if (read(choice, "text", out.text)) out.token = !out.text.empty() || may_be_empty;
    return;
  }
  std::string_view role, reasoning;
  const bool has_content = read(delta, "content", out.text);
  if (!read(delta, "reasoning_content", reasoning)) read(delta, "reasoning", reasoning);
  out.token = !out.text.empty() || !reasoning.empty() || filled_array(delta, "tool_calls") ||
              (has_content && may_be_empty && !read(delta, "role", role));
}

}  // namespace

struct AnswerEventParser::Parser {
  simdjson::dom::parser json;

  // `padded`: there are kPadding bytes behind the text. What is found lives until the next call.
  bool parse_object(std::string_view text, bool padded, object& out) {
    if (json.parse(text.data(), text.size(), !padded).get_object().get(out) == simdjson::SUCCESS) return true;
    return json.parse(strict_json(text)).get_object().get(out) == simdjson::SUCCESS;
  }
};

AnswerEventParser::AnswerEventParser() : parser_(std::make_unique<Parser>()) {}
AnswerEventParser::~AnswerEventParser() = default;

bool AnswerEventParser::parse(const std::string& data, AnswerEvent& out) {
  out = {};
  object event;
  if (!parser_->parse_object(data, true, event)) return false;
  element error;
  if (event["error"].get(error) == simdjson::SUCCESS && !error.is_null()) {
    out.error = true;
    out.message = message_of(event);
  }
  read(event, "id", out.id);
  object usage;
  const bool has_usage = read_object(event, "usage", usage);
  if (has_usage) {
    read_usage(usage, out);
    read_server_times(event, out.server);
  }
  simdjson::dom::array choices;
  if (event["choices"].get_array().get(choices) == simdjson::SUCCESS && choices.begin() != choices.end()) {
    object choice;
    if ((*choices.begin()).get_object().get(choice) == simdjson::SUCCESS) read_choice(choice, has_usage, out);
  }
  return true;
}

std::string AnswerEventParser::error_message(std::string_view body) {
  object reply;
  std::string_view message;
  if (parser_->parse_object(body, false, reply)) message = message_of(reply);
  return one_line(message.empty() ? body : message);
}

std::string one_line(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]),
               next = static_cast<unsigned char>(text[std::min(i + 1, text.size() - 1)]);
    const std::size_t before = out.size();
    if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F, which terminals obey too
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", next);
      ++i;
    } else {
      out += text[i];
    }
    if (out.size() <= limit) continue;
    out.resize(before);
    while (!out.empty() && (byte & 0xc0) == 0x80) {  // do not cut a character in two
      const auto last = static_cast<unsigned char>(out.back());
      if (last < 0x80) break;
      out.pop_back();
      if (last >= 0xc0) break;
    }
    break;
  }
  return out;
}

}  // namespace millrace::loadtest
