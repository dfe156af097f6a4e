#include "loadtest/request_body.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <span>

#include "base/json.h"

namespace millrace::loadtest {
namespace {

// "1,2,3": the ids of a long prompt are most of its body, so they are written without a formatter.
void append_ids(std::string& out, std::span<const std::int32_t> ids, bool& first) {
  std::array<char, 12> digits;
  for (const std::int32_t id : ids) {
    if (!first) out += ',';
    first = false;
    out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), id).ptr);
  }
}

void append_prompt(std::string& out, const std::vector<Exchange>& before, const Turn& turn) {
  if (!turn.ids.empty()) {
    std::size_t ids = turn.ids.size();
    for (const Exchange& exchange : before) ids += exchange.turn.ids.size();
    out.reserve(out.size() + 8 * ids + 512);
    out += R"("prompt":[)";
    bool first = true;
    // Without the answers: their ids are not known, and the text of random ids has others when it is tokenized again.
    for (const Exchange& exchange : before) append_ids(out, exchange.turn.ids, first);
    append_ids(out, turn.ids, first);
    out += ']';
    return;
  }
  std::string text;
  for (const Exchange& exchange : before) {
    text += exchange.turn.text;
    text += exchange.answer;
  }
  text += turn.text;
  out += R"("prompt":)" + json_string(text);
}

void append_messages(std::string& out, const std::vector<Exchange>& before, const Turn& turn) {
  out += R"("messages":[)";
  for (const Exchange& exchange : before) {
    out += R"({"role":"user","content":)" + json_string(exchange.turn.text) + R"(},{"role":"assistant","content":)" +
           json_string(exchange.answer) + "},";
  }
  out += R"({"role":"user","content":)" + json_string(turn.text) + "}]";
}

}  // namespace

std::string RequestStyle::path() const {
  return endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions";
}

std::string request_body(const RequestStyle& style, const std::vector<Exchange>& before, const Turn& turn) {
  std::string out = "{";
  const std::string& model = turn.model.empty() ? style.model : turn.model;
  if (!model.empty()) out += R"("model":)" + json_string(model) + ",";
  style.endpoint == RequestStyle::Endpoint::kChat ? append_messages(out, before, turn)
                                                  : append_prompt(out, before, turn);
  fmt::format_to(std::back_inserter(out), R"(,"max_tokens":{})", turn.output_tokens);
  if (style.temperature >= 0.0) fmt::format_to(std::back_inserter(out), R"(,"temperature":{})", style.temperature);
  if (style.ignore_eos) out += R"(,"ignore_eos":true)";
  out += R"(,"stream":true,"stream_options":{"include_usage":true})";
  for (const std::string* more : {&turn.fields, &style.extra}) {
    if (!more->empty()) out += "," + *more;
  }
  out += '}';
  return out;
}

}  // namespace millrace::loadtest
