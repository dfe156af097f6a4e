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

// Limit of reasoning tokens: after `tokens` tokens of reasoning the token that ends it follows, unless it came before.
// Applies only where the answer begins in reasoning, or opens it within its first tokens.
struct ThinkingBudget {
  std::int64_t tokens = 0;  // >= 0
  std::int32_t open = -1;   // the token that opens reasoning; -1: the prompt has opened it
  std::int32_t close = 0;   // the token that ends reasoning
};

// The limit that OpenAI's API documents and vLLM checks. Above it little but noise is sampled, and a higher value is
// mostly a slip: 9 for 0.9. llama.cpp has no limit.
inline constexpr double kMaxTemperature = 2.0;

// How tokens are chosen and when an answer ends. Names, neutral values and meanings are those of vLLM, and of llama.cpp
// where vLLM has none (table in docs/decode.md).
struct SamplingParams {
  double temperature = 1.0;        // 0 = greedy; [0, kMaxTemperature]
  double dynatemp_range = 0.0;     // the temperature varies by up to this much with the entropy; [0, 100]
  double dynatemp_exponent = 1.0;  // exponent of the entropy's share of its maximum; [0, 100]
  std::int64_t top_k = 0;          // keep the k likeliest tokens; 0 or -1 = all
  double top_p = 1.0;              // keep the smallest set of tokens with at least this probability; (0, 1]
  double min_p = 0.0;              // drop tokens less likely than min_p times the likeliest; [0, 1]
  double typical_p = 1.0;  // keep the tokens whose surprise is nearest to the entropy, up to this probability; (0, 1]
  double top_n_sigma = -1.0;  // keep logits within n standard deviations of the largest; up to 100, <= 0 = all
  // Probability that all tokens above xtc_threshold but the least likely of them are removed; [0, 1].
  double xtc_probability = 0.0;
  double xtc_threshold = 0.1;  // probability of a token; [0, 1], above 0.5 = XTC is off
  int mirostat_mode = 0;  // 1 or 2: controls the surprise with target mirostat_tau, instead of the other processors of
                          // the distribution; 0 = off
  double mirostat_tau = 5.0;             // target surprise in bits; [0, 100]
  double mirostat_eta = 0.1;             // learning rate of mirostat; [0, 1]
  double repetition_penalty = 1.0;       // for tokens in prompt or answer (arXiv:1909.05858); (0, 10]
  double presence_penalty = 0.0;         // subtracted from the logit of each token that occurs in the answer; [-2, 2]
  double frequency_penalty = 0.0;        // subtracted once for each occurrence in the answer; [-2, 2]
  std::int64_t repeat_last_n = -1;       // tokens that these three penalties look back on; -1 = all, 0 = none
  double dry_multiplier = 0.0;           // factor of the DRY penalty of tokens that continue a repetition; [0, 100]
  double dry_base = 1.75;                // the penalty grows by this factor with each further repeated token; [1, 100]
  std::int64_t dry_allowed_length = 2;   // repeated tokens without penalty; >= 1
  std::int64_t dry_penalty_last_n = -1;  // tokens that DRY looks back on; -1 = all, 0 = none
  std::shared_ptr<const SequenceBreakers> dry_sequence_breakers;  // strings at which a repetition ends; null = none
  // Size of n-grams that may occur only once in prompt and answer; [0, 64], 0 = any may recur.
  std::int64_t no_repeat_ngram_size = 0;
  std::optional<ThinkingBudget> thinking_budget;
  std::vector<TokenBias> logit_bias;                 // added to logits; at most 300, each bias in [-100, 100]
  std::vector<std::int32_t> allowed_token_ids;       // only these are sampled; empty = all
  std::vector<std::vector<std::int32_t>> bad_words;  // sequences of tokens that may not occur in the answer
  // Order of processors, with names that find_processor() accepts; empty = the default.
  std::vector<std::string> samplers;
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 16;              // of the answer; 0 only if scores of the prompt or an embedding are wanted
  std::int64_t min_tokens = 0;               // the first so many tokens of the answer cannot end it
  std::vector<std::string> stop;             // strings that end the answer, before the first of them
  std::vector<std::int32_t> stop_token_ids;  // tokens that end the answer, besides the model's own
  bool include_stop_str_in_output = false;   // the text includes the stop string or stop token
  bool ignore_eos = false;                   // the model's own end tokens do not end the answer
  bool skip_special_tokens = true;           // the text leaves special tokens out
  std::vector<std::int32_t> shown_special_tokens;  // special tokens that the text keeps all the same
  OptionValues options;         // values of processors' options that have no member here (SamplerOption)
  std::optional<int> logprobs;  // list the score of each sampled token and of so many of the likeliest; [0, 20]

  bool greedy() const noexcept { return temperature == 0.0; }
  // Checks all fields. kInvalidArgument names the field, the value and the limit; token ids must be below vocab_size.
  Result<void> validate(std::int64_t vocab_size = std::int64_t{1} << 31) const;
};

}  // namespace millrace::decode
