#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/option_spec.h"
#include "base/result.h"

namespace millrace::decode {

struct TokenBias {
  std::int32_t token = 0;
  float bias = 0.0f;
};

class SequenceBreakers;  // sequence_breakers.h

// After so many tokens of the answer the model has thought enough: the token that ends reasoning follows, unless it was
// there before. Only where the answer begins in reasoning, or opens it within its first tokens.
struct ThinkingBudget {
  std::int64_t tokens = 0;  // >= 0
  std::int32_t open = -1;   // the token that opens reasoning; -1: the prompt has
  std::int32_t close = 0;   // and that ends it
};

// How tokens are chosen and when an answer ends. Names, neutral values and meaning as in vLLM, and as in llama.cpp
// where vLLM has none (docs/decode.md has a table).
struct SamplingParams {
  double temperature = 1.0;         // 0 = greedy; up to 100
  double dynatemp_range = 0.0;      // temperature moves as far up and down with the entropy; [0, 100]
  double dynatemp_exponent = 1.0;   // of the entropy's share of its maximum; [0, 100]
  std::int64_t top_k = 0;           // keep the k likeliest; 0 or -1 = all
  double top_p = 1.0;               // keep the smallest set with this probability; (0, 1]
  double min_p = 0.0;               // drop tokens less likely than min_p times the likeliest; [0, 1]
  double typical_p = 1.0;           // keep the set of this probability nearest to the entropy; (0, 1]
  double top_n_sigma = -1.0;        // keep logits within n standard deviations of the largest; up to 100, <= 0 = all
  double xtc_probability = 0.0;     // how often all but the last of the tokens above the threshold go; [0, 1]
  double xtc_threshold = 0.1;       // above 0.5 = never; [0, 1]
  int mirostat_mode = 0;            // 1 or 2: holds the surprise at mirostat_tau instead of the five above
  double mirostat_tau = 5.0;        // bits; [0, 100]
  double mirostat_eta = 0.1;        // how fast; [0, 1]
  double repetition_penalty = 1.0;  // of tokens seen in prompt or answer (arXiv:1909.05858); (0, 10]
  double presence_penalty = 0.0;    // off the logit of each token that the answer has; [-2, 2]
  double frequency_penalty = 0.0;   // and this as often as it has it; [-2, 2]
  std::int64_t repeat_last_n = -1;  // of how many tokens these three know; -1 = all, 0 = none
  double dry_multiplier = 0.0;      // of the penalty of tokens that go on repeating; [0, 100]
  double dry_base = 1.75;           // grows by this with each repeated token more; [1, 100]
  std::int64_t dry_allowed_length = 2;                            // than so many; >= 1
  std::int64_t dry_penalty_last_n = -1;                           // within so many last tokens; -1 = all, 0 = none
  std::shared_ptr<const SequenceBreakers> dry_sequence_breakers;  // a repetition does not reach over them; may be null
  std::int64_t no_repeat_ngram_size = 0;  // no n tokens twice in prompt and answer; [0, 64], 0 = any
  std::optional<ThinkingBudget> thinking_budget;
  std::vector<TokenBias> logit_bias;                 // added to logits; at most 300, each in [-100, 100]
  std::vector<std::int32_t> allowed_token_ids;       // nothing else is sampled; empty = all are allowed
  std::vector<std::vector<std::int32_t>> bad_words;  // sequences of tokens that the answer will not have
  std::vector<std::string> samplers;  // in which order, names as find_processor takes them; empty = the default
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 16;   // of the answer; 0 only where scores of the prompt or an embedding are asked for
  std::int64_t min_tokens = 0;    // no token and no stop string ends the answer within its first ones
  std::vector<std::string> stop;  // the answer ends before the first of these
  std::vector<std::int32_t> stop_token_ids;        // or with one of these, as with the model's own
  bool include_stop_str_in_output = false;         // the text has what ended it: the stop string, or the token's
  bool ignore_eos = false;                         // the model's own ends of generation are tokens like any other
  bool skip_special_tokens = true;                 // the text leaves them out
  std::vector<std::int32_t> shown_special_tokens;  // but these
  OptionValues options;                            // of processors, where an option has no member here (SamplerOption)
  std::optional<int> logprobs;  // score each sampled token and list as many of the likeliest; [0, 20]

  bool greedy() const noexcept { return temperature == 0.0; }
  // kInvalidArgument naming the field, the value and the limit; token ids must be below vocab_size.
  Result<void> validate(std::int64_t vocab_size = std::int64_t{1} << 31) const;
};

}  // namespace millrace::decode
