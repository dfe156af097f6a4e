#include "chat/answer_reader.h"

#include <fmt/format.h>

namespace millrace::chat {
namespace {

// FNV-1a and the finaliser of MurmurHash3: ids need be unlike, not secret.
std::uint64_t mixed(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

}  // namespace

std::vector<std::int32_t> special_markers(const AnswerReading& reading, const text::Tokenizer& tokenizer) {
  std::vector<std::int32_t> out;
  const auto add = [&](std::string_view word) {
    const auto token = word.empty() ? std::nullopt : tokenizer.find(word);
    if (token && tokenizer.is_special(*token)) out.push_back(*token);
  };
  if (reading.tools != nullptr) std::ranges::for_each(reading.tools->markers, add);
  if (reading.reasoning != nullptr) {
    add(reading.reasoning->open);
    add(reading.reasoning->close);
    add(reading.reasoning->answer_open);
    add(reading.reasoning->answer_close);
  }
  return out;
}

AnswerReader::AnswerReader(const AnswerReading& reading, const tools::ToolUse& use, std::size_t answer)
    : writer_(reading.tools != nullptr), seed_(fmt::format("{}/{}", reading.id_seed, answer)) {
  if (reading.reasoning != nullptr) thinks_.emplace(*reading.reasoning, reading.reasoning_begun, writer_);
  if (reading.tools == nullptr) return;
  calls_ = reading.tools->parser(use, writer_);
  ids_ = reading.tools->ids;
}

std::string AnswerReader::id_of(const PartEvent& call) const {
  const std::uint64_t number = mixed(fmt::format("{}/{}", seed_, call.call));
  switch (ids_) {
    case tools::CallIds::kPlain: break;
    case tools::CallIds::kShort: return fmt::format("{:09x}", number & 0xfffffffff);
    case tools::CallIds::kNamed: return fmt::format("functions.{}:{}", call.text, call.call);
  }
  return fmt::format("call_{:016x}", number);
}

std::vector<PartEvent> AnswerReader::push(std::string_view text, bool last) {
  std::string rest;
  if (thinks_) {
    thinks_->push(text, rest);
    if (last) thinks_->finish(rest);
    text = rest;
  }
  if (calls_ != nullptr) {
    calls_->push(text);
    if (last) calls_->finish();
  } else {
    writer_.content(text);
    if (last) writer_.finish();
  }
  std::vector<PartEvent> events = writer_.take();
  for (PartEvent& event : events) {
    if (event.kind == PartEvent::Kind::kCallBegin) event.id = id_of(event);
  }
  return events;
}

}  // namespace millrace::chat
