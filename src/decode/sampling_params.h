#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::decode {

struct TokenBias {
  std::int32_t token = 0;
  float bias = 0.0f;
};

// How tokens are chosen and when an answer ends. Names, neutral values and meaning as in vLLM.
struct SamplingParams {
  double temperature = 1.0;                          // 0 = greedy; up to 100
  std::int64_t top_k = 0;                            // keep the k likeliest; 0 or -1 = all
  double top_p = 1.0;                                // keep the smallest set with this probability; (0, 1]
  double min_p = 0.0;                                // drop tokens less likely than min_p times the likeliest; [0, 1]
  double repetition_penalty = 1.0;                   // of tokens seen in prompt or answer (arXiv:1909.05858); (0, 10]
  double presence_penalty = 0.0;                     // off the logit of each token that the answer has; [-2, 2]
  double frequency_penalty = 0.0;                    // and this as often as it has it; [-2, 2]
  std::vector<TokenBias> logit_bias;                 // added to logits; at most 300, each in [-100, 100]
  std::vector<std::int32_t> allowed_token_ids;       // nothing else is drawn; empty = all are allowed
  std::vector<std::vector<std::int32_t>> bad_words;  // sequences of tokens that the answer will not have
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 16;   // of the answer; 0 only where scores of the prompt or an embedding are asked for
  std::int64_t min_tokens = 0;    // no token and no stop string ends the answer within its first ones
  std::vector<std::string> stop;  // the answer ends before the first of these
  std::vector<std::int32_t> stop_token_ids;  // or with one of these, as with the model's own
  bool include_stop_str_in_output = false;   // the text has what ended it: the stop string, or the token's
  bool ignore_eos = false;                   // the model's own ends of generation are tokens like any other
  bool skip_special_tokens = true;           // the text leaves them out
  std::optional<int> logprobs;               // score each drawn token and list as many of the likeliest; [0, 20]

  bool greedy() const noexcept { return temperature == 0.0; }
  // kInvalidArgument naming the field, the value and the limit; token ids must be below vocab_size.
  Result<void> validate(std::int64_t vocab_size = std::int64_t{1} << 31) const;
};

}  // namespace millrace::decode
