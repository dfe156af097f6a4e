#include "grammar/matcher.h"

#include <optional>
#include <utility>

#include "grammar/compiled_grammar.h"

namespace millrace::grammar {
namespace {

// The one byte that all ways read next.
std::optional<std::uint8_t> only_byte(const TransitionNetwork& network, std::span<const ParseStates::Way> ways) {
  std::optional<std::uint8_t> only;
  for (const ParseStates::Way& way : ways) {
    for (const auto& edge : network.bytes_of(way.state)) {
      if (edge.first != edge.last || (only && *only != edge.first)) return std::nullopt;
      only = edge.first;
    }
  }
  return only;
}

}  // namespace

Matcher::Matcher(std::shared_ptr<CompiledGrammar> grammar)
    : grammar_(std::move(grammar)), state_(grammar_->states().start()) {}

bool Matcher::accept(std::int32_t token) {
  const Vocabulary& vocabulary = grammar_->vocabulary();
  if (vocabulary.is_end(token)) return may_end();
  const std::string_view bytes = vocabulary.bytes(token);
  return !bytes.empty() && accept_bytes(bytes);
}

bool Matcher::accept_bytes(std::string_view bytes) {
  ParseStates::Id state = state_;
  grammar_->states().allow(CompiledGrammar::kMaxWork);
  for (const char c : bytes) {
    state = grammar_->states().step(state, static_cast<std::uint8_t>(c));
    if (state == ParseStates::kDead) return false;
  }
  state_ = state;
  return true;
}

void Matcher::fill_mask(std::span<std::uint64_t> words, bool ends) { grammar_->fill_mask(state_, words, ends); }

std::size_t Matcher::mask_words() const noexcept { return grammar_->vocabulary().words(); }

bool Matcher::may_end() const { return grammar_->states().may_end(state_); }

bool Matcher::must_end() const { return may_end() && grammar_->states().ways(state_).empty(); }

std::string Matcher::forced(std::size_t most) {
  std::string out;
  ParseStates& states = grammar_->states();
  states.allow(CompiledGrammar::kMaxWork);
  for (ParseStates::Id state = state_; out.size() < most && !states.may_end(state);) {
    const auto byte = only_byte(grammar_->network(), states.ways(state));
    if (!byte) break;
    state = states.step(state, *byte);
    if (state == ParseStates::kDead) break;
    out += static_cast<char>(*byte);
  }
  return out;
}

const text::Tokenizer& Matcher::tokenizer() const noexcept { return grammar_->vocabulary().tokenizer(); }

bool Matcher::failed() const noexcept { return grammar_->failed(); }

}  // namespace millrace::grammar
