#include <algorithm>
#include <utility>

#include "base/portable_math.h"
#include "decode/processor.h"
#include "decode/sequence_breakers.h"

namespace millrace::decode::processors {
namespace {

constexpr double kMaxPenalty = 1e9;  // beyond any logit

// z[i] = how many of `text` agree with those from its i-th on; z[0] is not used (Gusfield 1997, section 1.4).
void z_function(std::span<const std::int32_t> text, std::vector<std::int64_t>& z) {
  const std::int64_t n = std::ssize(text);
  z.assign(text.size(), 0);
  const auto at = [](auto&& list, std::int64_t i) -> auto& { return list[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 1, left = 0, right = 0; i < n; ++i) {
    std::int64_t same = i < right ? std::min(right - i, at(z, i - left)) : 0;
    while (i + same < n && at(text, same) == at(text, i + same)) ++same;
    at(z, i) = same;
    if (i + same > right) left = i, right = i + same;
  }
}

// "Don't repeat yourself" (text-generation-webui, pull request 5677), as in llama.cpp: a token that would lengthen a
// repetition of at least allowed_length tokens loses multiplier * base^(length - allowed_length). Linear in the history
// by the Z-function of the text read backwards.
void apply(const SamplingContext& at, Candidates& candidates) {
  const SamplingParams& params = at.params;
  const std::int64_t size = at.history.size();
  const std::int64_t n = params.dry_penalty_last_n < 0 ? size : std::min(params.dry_penalty_last_n, size);
  if (n <= params.dry_allowed_length) return;
  thread_local std::vector<std::int32_t> backwards;
  thread_local std::vector<std::int64_t> z;
  backwards.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) backwards[static_cast<std::size_t>(i)] = at.history.from_end(i);
  const SequenceBreakers* breakers = params.dry_sequence_breakers.get();
  const std::int64_t limit = breakers == nullptr ? n : breakers->since_last(backwards);
  if (limit < params.dry_allowed_length) return;

  z_function(backwards, z);
  thread_local std::vector<std::pair<std::int32_t, std::int64_t>> repeated;  // token, what it would lengthen
  repeated.clear();
  for (std::size_t i = 1; i < z.size(); ++i) {
    const std::int64_t length = std::min(z[i], limit);
    if (length >= params.dry_allowed_length) repeated.emplace_back(backwards[i - 1], length);
  }
  std::ranges::sort(repeated);
  const double log_base = portable_log(params.dry_base);
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    const auto [token, length] = repeated[i];
    if (i + 1 < repeated.size() && repeated[i + 1].first == token) continue;  // the longest comes last
    if (breakers != nullptr && breakers->breaks_alone(token)) continue;
    Candidate* c = find_candidate(candidates, token);
    if (c == nullptr) continue;
    const double growth = portable_exp(static_cast<double>(length - params.dry_allowed_length) * log_base);
    c->logit -= static_cast<float>(std::min(params.dry_multiplier * growth, kMaxPenalty));
  }
}

}  // namespace

Processor dry() {
  return {
      .name = "dry",
      .alias = "",
      .place = 200,
      .stage = Stage::kAdjust,
      .reads_tokens = true,
      .reads_counts = false,
      .active = [](const SamplingParams& p) { return p.dry_multiplier > 0.0 && p.dry_penalty_last_n != 0; },
      .apply = apply,
      .options = {{.spec = {.name = "dry_multiplier",
                            .high = 100.0,
                            .help = "DRY: penalty of a token that lengthens a repetition; 0 = off"},
                   .member = &SamplingParams::dry_multiplier},
                  {.spec = {.name = "dry_base",
                            .low = 1.0,
                            .high = 100.0,
                            .neutral = 1.75,
                            .help = "DRY: factor by which the penalty grows with each further token of the repetition"},
                   .member = &SamplingParams::dry_base},
                  {.spec = {.name = "dry_allowed_length",
                            .kind = OptionSpec::Kind::kWhole,
                            .low = 1.0,
                            .high = kMaxOptionCount,
                            .neutral = 2.0,
                            .rule = "at least 1",
                            .help = "DRY: length of a repetition, in tokens, that is not penalized yet"},
                   .member = &SamplingParams::dry_allowed_length},
                  {.spec = {.name = "dry_penalty_last_n",
                            .kind = OptionSpec::Kind::kWhole,
                            .low = -1.0,
                            .high = kMaxOptionCount,
                            .neutral = -1.0,
                            .rule = "-1 (all), 0 (none) or a count",
                            .help = "DRY: number of last tokens searched for repetitions; -1 = all, 0 = none"},
                   .member = &SamplingParams::dry_penalty_last_n}}};
}

}  // namespace millrace::decode::processors
