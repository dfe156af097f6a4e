// SamplingParams::validate, which knows the options of all processors: a unit of its own, so that these need not know
// it.

#include "decode/sampling_params.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "decode/processor.h"
#include "decode/token_score.h"

namespace millrace::decode {
namespace {

constexpr std::size_t kMaxStops = 16, kMaxStopTokens = 256;
constexpr std::size_t kMaxStopBytes = 1024;  // 256 characters of UTF-8
constexpr std::size_t kMaxBiases = 300, kMaxBadWords = 256, kMaxBadWordTokens = 64;
constexpr float kMaxBias = 100.0f;  // either way, as OpenAI has it

// NaN fails every range.
Result<void> check_range(const char* field, double value, bool ok, const char* rule) {
  if (ok) return {};
  return make_error(ErrorCode::kInvalidArgument, field, "{} is {}: must be {}", field, value, rule);
}

Result<void> check_count(const char* field, const char* what, std::size_t n, std::size_t limit) {
  if (n <= limit) return {};
  return make_error(ErrorCode::kInvalidArgument, field, "{} {}, the limit is {}", n, what, limit);
}

Result<void> check_token(const char* field, std::int32_t token, std::int64_t vocab_size) {
  if (token >= 0 && token < vocab_size) return {};
  return make_error(ErrorCode::kInvalidArgument, field, "token id {} is outside the vocabulary of {}", token,
                    vocab_size);
}

Result<void> check_tokens(const char* field, const std::vector<std::int32_t>& tokens, std::int64_t vocab_size) {
  for (const std::int32_t token : tokens) {
    if (auto valid = check_token(field, token, vocab_size); !valid) return valid;
  }
  return {};
}

Result<void> check_stops(const std::vector<std::string>& stops) {
  if (auto valid = check_count("stop", "stop strings", stops.size(), kMaxStops); !valid) return valid;
  for (const std::string& text : stops) {
    if (text.empty() || text.size() > kMaxStopBytes) {
      return make_error(ErrorCode::kInvalidArgument, "stop", "a stop string of {} bytes: must have 1 to {}",
                        text.size(), kMaxStopBytes);
    }
  }
  return {};
}

Result<void> check_biases(const std::vector<TokenBias>& biases, std::int64_t vocab_size) {
  if (auto valid = check_count("logit_bias", "biases", biases.size(), kMaxBiases); !valid) return valid;
  for (const TokenBias& bias : biases) {
    if (auto valid = check_token("logit_bias", bias.token, vocab_size); !valid) return valid;
    if (!(std::abs(bias.bias) <= kMaxBias)) {  // NaN fails
      return make_error(ErrorCode::kInvalidArgument, "logit_bias",
                        "the bias of token {} is {}: must be between {} and {}", bias.token, bias.bias, -kMaxBias,
                        kMaxBias);
    }
  }
  return {};
}

Result<void> check_bad_words(const std::vector<std::vector<std::int32_t>>& words, std::int64_t vocab_size) {
  if (auto valid = check_count("bad_words", "bad words", words.size(), kMaxBadWords); !valid) return valid;
  for (const std::vector<std::int32_t>& word : words) {
    if (word.empty() || word.size() > kMaxBadWordTokens) {
      return make_error(ErrorCode::kInvalidArgument, "bad_words", "a bad word of {} tokens: must have 1 to {}",
                        word.size(), kMaxBadWordTokens);
    }
    if (auto valid = check_tokens("bad_words", word, vocab_size); !valid) return valid;
  }
  return {};
}

Result<void> check_samplers(const std::vector<std::string>& names) {
  std::vector<const Processor*> seen;
  for (const std::string& name : names) {
    const Processor* p = find_processor(name);
    if (p == nullptr) {
      return make_error(ErrorCode::kInvalidArgument, "samplers", "samplers has '{}': known are {}", name.substr(0, 32),
                        fmt::join(sampler_names(), ", "));
    }
    if (std::ranges::find(seen, p) != seen.end()) {
      return make_error(ErrorCode::kInvalidArgument, "samplers", "samplers has '{}' twice", p->name);
    }
    seen.push_back(p);
  }
  return {};
}

}  // namespace

Result<void> SamplingParams::validate(std::int64_t vocab_size) const {
  for (const SamplerOption* option : all_sampler_options()) {
    if (auto valid = option->spec.check(option->spec.name, option->of(*this)); !valid) return valid;
  }
  const Result<void> checks[] = {
      check_samplers(samplers),
      check_range("max_tokens", static_cast<double>(max_tokens),
                  max_tokens >= 0 && max_tokens < (std::int64_t{1} << 31), "at least 1"),
      check_range("min_tokens", static_cast<double>(min_tokens), min_tokens >= 0 && min_tokens <= max_tokens,
                  "at least 0 and at most max_tokens"),
      check_range("logprobs", logprobs.value_or(0), logprobs.value_or(0) >= 0 && logprobs.value_or(0) <= kMaxLogprobs,
                  "between 0 and 20"),
      check_stops(stop),
      check_count("stop_token_ids", "stop tokens", stop_token_ids.size(), kMaxStopTokens),
      check_tokens("stop_token_ids", stop_token_ids, vocab_size),
      check_biases(logit_bias, vocab_size),
      check_count("allowed_token_ids", "allowed tokens", allowed_token_ids.size(),
                  static_cast<std::size_t>(vocab_size)),
      check_tokens("allowed_token_ids", allowed_token_ids, vocab_size),
      check_bad_words(bad_words, vocab_size),
  };
  for (const Result<void>& check : checks) {
    if (!check) return check.error();
  }
  return {};
}

}  // namespace millrace::decode
