#pragma once

// The fields of sampling parameters for ByteWriter and ByteReader (base/byte_archive.h). Who adds a member to
// SamplingParams adds it here and increments kSnapshotVersion.

#include "base/byte_archive.h"
#include "decode/sampling_params.h"
#include "decode/sequence_breakers.h"

namespace millrace {

template <typename Archive>
void visit_fields(Archive& a, OptionValues& v) {
  a(v.values());
}

}  // namespace millrace

namespace millrace::decode {

template <typename Archive>
void visit_fields(Archive& a, TokenBias& v) {
  a(v.token, v.bias);
}
template <typename Archive>
void visit_fields(Archive& a, ThinkingBudget& v) {
  a(v.tokens, v.open, v.close);
}
template <typename Archive>
void visit_fields(Archive& a, SamplingParams& v) {
  a(v.temperature, v.dynatemp_range, v.dynatemp_exponent, v.top_k, v.top_p, v.min_p, v.typical_p, v.top_n_sigma,
    v.xtc_probability, v.xtc_threshold, v.mirostat_mode, v.mirostat_tau, v.mirostat_eta, v.repetition_penalty,
    v.presence_penalty, v.frequency_penalty, v.repeat_last_n, v.dry_multiplier, v.dry_base, v.dry_allowed_length,
    v.dry_penalty_last_n, v.no_repeat_ngram_size, v.thinking_budget, v.logit_bias, v.allowed_token_ids, v.bad_words,
    v.samplers, v.seed, v.max_tokens, v.min_tokens, v.stop, v.stop_token_ids, v.include_stop_str_in_output,
    v.ignore_eos, v.skip_special_tokens, v.shown_special_tokens, v.options, v.logprobs);
  // Sequence breakers are stored as strings; who has a tokenizer finds their tokens (find_sequence_breakers).
  std::optional<std::vector<std::string>> breakers;
  if (v.dry_sequence_breakers) breakers = v.dry_sequence_breakers->strings();
  a(breakers);
  if constexpr (kReads<Archive>) {
    if (breakers) v.dry_sequence_breakers = std::make_shared<const SequenceBreakers>(*std::move(breakers));
  }
}

}  // namespace millrace::decode
