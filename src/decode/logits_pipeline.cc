#include "decode/logits_pipeline.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/portable_math.h"
#include "decode/gumbel_sample.h"
#include "decode/mirostat.h"
#include "decode/processor.h"
#include "decode/row_statistics.h"
#include "decode/softmax.h"
#include "decode/threshold.h"

namespace millrace::decode {

// What the parameters say, worked out once.
struct LogitsPipeline::Plan {
  SamplingParams params;
  std::vector<std::int32_t> ends;     // banned while the answer is too short
  std::vector<std::int32_t> allowed;  // ascending; empty = all
  std::vector<const Processor*> sampling, scoring;

  Plan(const SamplingParams& asked, std::span<const std::int32_t> end_of_generation)
      : params(asked), allowed(asked.allowed_token_ids), scoring(build_chain(asked)) {
    if (params.min_tokens > 0) {
      ends = params.stop_token_ids;
      ends.insert(ends.end(), end_of_generation.begin(), end_of_generation.end());
    }
    std::ranges::sort(allowed);
    allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
    if (!params.greedy()) sampling = scoring;
    std::erase_if(scoring, [](const Processor* p) { return p->stage == Stage::kSample; });
    if (params.greedy()) sampling = scoring;
  }

  History::Keeps keeps() const {
    History::Keeps keeps{.tokens = false, .counts = false, .window = params.repeat_last_n};
    for (const Processor* p : sampling) {
      keeps.tokens = keeps.tokens || p->reads_tokens;
      keeps.counts = keeps.counts || p->reads_counts;
    }
    return keeps;
  }
  bool largest_is_all() const { return params.greedy() && sampling.empty() && allowed.empty(); }
};

namespace {

// The first of the largest finite logits, or -1 if one is not a number or none is finite.
std::int32_t first_largest(std::span<const float> logits) {
  thread_local std::vector<float> maxima;
  maxima.resize((logits.size() + kScoreBlock - 1) / kScoreBlock);
  if (block_maxima(logits.data(), logits.size(), maxima.data())) return -1;
  const auto block = std::ranges::max_element(maxima);
  if (*block == -std::numeric_limits<float>::infinity()) return -1;
  const auto begin = logits.begin() + (block - maxima.begin()) * static_cast<std::ptrdiff_t>(kScoreBlock);
  return static_cast<std::int32_t>(std::find(begin, logits.end(), *block) - logits.begin());
}

void keep(std::span<const std::int32_t> allowed, Candidates& candidates) {
  std::size_t kept = 0;
  for (const std::int32_t token : allowed) {
    if (const Candidate* c = find_candidate(candidates, token)) candidates[kept++] = *c;
  }
  candidates.resize(kept);
}

bool is_set(std::span<const std::uint64_t> mask, std::int32_t token) {
  return (mask[static_cast<std::size_t>(token) / 64] >> (token % 64) & 1) != 0;
}

// The first of the largest logits of tokens in the mask, or -1 if none of those is finite.
std::int32_t first_largest(std::span<const float> logits, std::span<const std::uint64_t> mask) {
  float best = -std::numeric_limits<float>::infinity();
  std::int32_t token = -1;
  for (std::size_t word = 0; word < mask.size(); ++word) {
    std::uint64_t bits = mask[word];
    if (bits == 0) continue;
    const std::span row = logits.subspan(word * 64, std::min<std::size_t>(64, logits.size() - word * 64));
    // Most words are full or empty: in full ones the largest is looked for first, and where it is only if it is new.
    if (~bits == 0 && *std::ranges::max_element(row) <= best) continue;
    for (; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(bits));
      if (!(row[i] > best)) continue;
      best = row[i];
      token = static_cast<std::int32_t>(word * 64 + i);
    }
  }
  return token;
}

// As gather(), of the tokens in the mask alone, though the whole row is looked at for what is broken.
bool gather_masked(std::span<const float> logits, std::span<const std::int32_t> allowed,
                   std::span<const std::uint64_t> mask, Candidates& candidates) {
  candidates.clear();
  if (first_largest(logits) < 0) return false;
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      const std::size_t token = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (std::isfinite(logits[token])) candidates.push_back({static_cast<std::int32_t>(token), logits[token]});
    }
  }
  if (!allowed.empty()) keep(allowed, candidates);
  return true;
}

// The tokens with finite logits that may be sampled. False if a logit is NaN, as then the whole row came out of a
// broken computation, or none is finite.
bool gather(std::span<const float> logits, std::span<const std::int32_t> allowed, std::span<const std::uint64_t> mask,
            Candidates& candidates) {
  if (!mask.empty()) return gather_masked(logits, allowed, mask, candidates);
  candidates.resize(logits.size());
  std::size_t n = 0;
  bool nan = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    nan = nan || std::isnan(logits[i]);
    candidates[n] = {static_cast<std::int32_t>(i), logits[i]};
    n += static_cast<std::size_t>(std::isfinite(logits[i]));
  }
  candidates.resize(n);
  if (nan || n == 0) return false;
  if (!allowed.empty()) keep(allowed, candidates);
  return true;
}

}  // namespace

Error broken_logits(std::int64_t position) {
  return make_error(ErrorCode::kInternal, "logits", "numerical error: the logits at position {} are not numbers",
                    position);
}

LogitsPipeline::LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size,
                               std::span<const std::int32_t> end_of_generation, std::optional<grammar::Matcher> grammar)
    : plan_(std::make_shared<const Plan>(params, end_of_generation)),
      grammar_(std::move(grammar)),
      history_(plan_->keeps(), vocab_size),
      mirostat_mu_(2.0 * params.mirostat_tau) {}

const SamplingParams& LogitsPipeline::params() const noexcept { return plan_->params; }

void LogitsPipeline::observe(std::span<const std::int32_t> tokens) { history_.observe(tokens); }

void LogitsPipeline::accept(std::int32_t token) {
  history_.accept(token);
  if (grammar_ && !grammar_->accept(token)) broken_ = true;
  if (mirostat_row_.empty()) return;
  mirostat_mu_ = mirostat_after(plan_->params, mirostat_mu_, mirostat_row_, token);
  mirostat_row_.clear();
}

bool LogitsPipeline::too_short() const {
  return !plan_->ends.empty() && history_.answer_size() < plan_->params.min_tokens && !must_end();
}

Result<std::span<const std::uint64_t>> LogitsPipeline::allowed_by_grammar(std::size_t vocab_size) {
  if (!grammar_) return std::span<const std::uint64_t>();
  thread_local std::vector<std::uint64_t> words;
  words.resize(std::max((vocab_size + 63) / 64, grammar_->mask_words()));
  if (broken_) return make_error(ErrorCode::kInternal, "grammar", "a token was sampled that does not fit the grammar");
  grammar_->fill_mask(words, !plan_->params.ignore_eos || grammar_->must_end());
  if (grammar_->failed()) {
    return make_error(ErrorCode::kResourceExhausted, "grammar",
                      "the grammar is too complex: what it has said takes more memory than the limit");
  }
  std::ranges::fill(std::span(words).subspan((vocab_size + 63) / 64), 0);
  if (vocab_size % 64 != 0) words[vocab_size / 64] &= (std::uint64_t{1} << (vocab_size % 64)) - 1;
  return std::span<const std::uint64_t>(words).first((vocab_size + 63) / 64);
}

Error LogitsPipeline::nothing_left(std::int64_t position) const {
  const SamplingParams& p = plan_->params;
  const char* field = grammar_                     ? "grammar"
                      : !plan_->allowed.empty()    ? "allowed_token_ids"
                      : p.no_repeat_ngram_size > 0 ? "no_repeat_ngram_size"
                                                   : "bad_words";
  return make_error(ErrorCode::kInvalidArgument, field,
                    "no token can be sampled at position {}: all are banned or not allowed", position);
}

Result<Candidates*> LogitsPipeline::process(std::span<const float> logits, std::int64_t position, Use use) {
  thread_local Candidates candidates;  // a megabyte at 128k tokens: of the thread, not of each sequence
  const auto mask = allowed_by_grammar(logits.size());
  if (!mask) return mask.error();
  if (!gather(logits, plan_->allowed, *mask, candidates)) return broken_logits(position);
  const SamplingContext context{
      .params = plan_->params, .history = history_, .position = position, .mirostat_mu = mirostat_mu_};
  const auto& chain = use == Use::kSample ? plan_->sampling : plan_->scoring;
  auto next = chain.begin();
  for (; next != chain.end() && (*next)->stage == Stage::kBan; ++next) (*next)->apply(context, candidates);
  if (too_short()) {
    for (const std::int32_t token : plan_->ends) ban_token(candidates, token);
  }
  if (next != chain.begin() || too_short()) {
    std::erase_if(candidates, [](const Candidate& c) { return std::isinf(c.logit); });
  }
  if (candidates.empty()) return nothing_left(position);
  for (; next != chain.end(); ++next) (*next)->apply(context, candidates);
  if (use == Use::kSample && plan_->params.mirostat_mode != 0 && !plan_->params.greedy()) mirostat_row_ = candidates;
  return &candidates;
}

Result<std::int32_t> LogitsPipeline::sample(std::span<const float> logits, std::int64_t position) {
  if (plan_->largest_is_all() && !too_short()) {
    const std::int32_t token = first_largest(logits);
    if (token < 0) return broken_logits(position);
    const auto mask = allowed_by_grammar(logits.size());
    if (!mask) return mask.error();
    if (mask->empty() || is_set(*mask, token)) return token;
    const std::int32_t allowed = first_largest(logits, *mask);
    return allowed < 0 ? Result<std::int32_t>(nothing_left(position)) : allowed;
  }
  const auto candidates = process(logits, position, Use::kSample);
  if (!candidates) return candidates.error();
  if (plan_->params.greedy()) return likeliest(**candidates).token;
  return gumbel_sample(**candidates, plan_->params.seed, position);
}

Result<std::span<const TokenProbability>> LogitsPipeline::distribution(std::span<const float> logits,
                                                                       std::int64_t position) {
  std::vector<TokenProbability>& out = results_.distribution;
  out.clear();
  if (plan_->params.greedy()) {
    const auto token = sample(logits, position);
    if (!token) return token.error();
    out.push_back({*token, 1.0});
    return std::span<const TokenProbability>(out);
  }
  const auto processed = process(logits, position, Use::kSample);
  if (!processed) return processed.error();
  const Candidates& candidates = **processed;
  thread_local std::vector<double> weights;
  const double total = softmax_weights(candidates, largest_logit(candidates), weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0.0) out.push_back({candidates[i].token, weights[i] / total});
  }
  return std::span<const TokenProbability>(out);
}

Result<std::span<const ScoredToken>> LogitsPipeline::scores(std::span<const float> logits, std::int64_t position,
                                                            std::size_t n) {
  const auto processed = process(logits, position, Use::kScore);
  if (!processed) return processed.error();
  Candidates& candidates = **processed;
  thread_local std::vector<double> weights;
  const float largest = largest_logit(candidates);
  const double log_sum = static_cast<double>(largest) + portable_log(softmax_weights(candidates, largest, weights));
  std::vector<ScoredToken>& out = results_.scores;
  out.clear();
  if (n == 0) return std::span<const ScoredToken>(out);
  if (n < candidates.size()) keep_likeliest(candidates, {}, static_cast<double>(n));
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::logit);
  for (const Candidate& c : candidates) out.push_back({c.token, static_cast<double>(c.logit) - log_sum});
  return std::span<const ScoredToken>(out);
}

}  // namespace millrace::decode
