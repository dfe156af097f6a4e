#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "decode/candidates.h"
#include "decode/history.h"
#include "decode/sampling_params.h"
#include "grammar/matcher.h"

namespace millrace::decode {

struct TokenProbability {
  std::int32_t token = 0;
  double probability = 0.0;
};
struct ScoredToken {
  std::int32_t token = 0;
  double logprob = 0.0;  // natural logarithm, at most 0
};

// The kInternal error for logits of which one is NaN or none is finite. `position` is an index in the whole sequence.
Error broken_logits(std::int64_t position);

// The one path from a row of logits [V] to a token. The constructor lists the processors that the parameters need: bans
// and bias, then `samplers` in their order (docs/decode.md). Greedy sampling and scores() apply bans and changes of
// logits, but not the processors that shape the distribution. The sample is Gumbel-max with noise of (seed, position,
// token).
// One object per sequence; one thread at a time. It keeps the tokens so far. Copies are independent and cheap: they
// share parameters and prompt. Only observe() and accept() change later results.
// The functions that take a row return kInternal if a logit is NaN or none is finite, and kInvalidArgument if all
// tokens are banned. `position` is the new token's index in the whole sequence. Tokens that do not fit the grammar
// count as banned. Returned spans live until the next call on the object.
class LogitsPipeline {
 public:
  // `params` are valid. stop_token_ids and `end_of_generation` are not sampled before the answer has min_tokens tokens.
  // `grammar` must be at the beginning of the answer.
  LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size,
                 std::span<const std::int32_t> end_of_generation = {},
                 std::optional<grammar::Matcher> grammar = std::nullopt);

  // Appends tokens of the prompt. Must be called before the first accept().
  void observe(std::span<const std::int32_t> tokens);
  // Appends the next token of the answer, whether sample() returned it or not. Mirostat learns the token's surprise
  // from the last row that sample() or distribution() saw, and learns nothing from a token that had no probability
  // there.
  void accept(std::int32_t token);

  // Samples the next token.
  Result<std::int32_t> sample(std::span<const float> logits, std::int64_t position);
  // The distribution that sample() samples from at this position: ascending by token, probabilities > 0 with sum 1 but
  // for rounding. Greedy: one token. Whether XTC applies is a function of the position, so it is included.
  Result<std::span<const TokenProbability>> distribution(std::span<const float> logits, std::int64_t position);
  // The n likeliest tokens by log_softmax of the row after bans, bias and penalties, the likeliest first and equal ones
  // by id; fewer if fewer are left. For beam search.
  Result<std::span<const ScoredToken>> scores(std::span<const float> logits, std::int64_t position, std::size_t n);

  // Whether the answer fits its grammar as it is and no token may follow.
  bool must_end() const { return grammar_ && grammar_->must_end(); }
  // Whether there is a grammar. Pipelines with a grammar must all be used by one thread; others may sample in parallel.
  bool constrained() const noexcept { return grammar_.has_value(); }
  // The grammar's state after the answer so far; nothing without a grammar.
  std::optional<grammar::Matcher> grammar() const { return grammar_; }

  const SamplingParams& params() const noexcept;

  // The surprise in bits that mirostat allows now. All else that a pipeline remembers follows from observe and accept
  // of the same tokens: a pipeline is rebuilt by these, and then this.
  double mirostat_mu() const noexcept { return mirostat_mu_; }
  void set_mirostat_mu(double mu) noexcept { mirostat_mu_ = mu; }

 private:
  struct Plan;
  // What copies need not have.
  struct Results {
    std::vector<TokenProbability> distribution;
    std::vector<ScoredToken> scores;
    Results() = default;
    Results(const Results&) {}
    Results& operator=(const Results&) { return *this; }
    Results(Results&&) = default;
    Results& operator=(Results&&) = default;
  };
  enum class Use { kSample, kScore };

  bool too_short() const;
  Error nothing_left(std::int64_t position) const;
  // What the grammar lets through: empty where there is none. Of the thread, until the next call.
  Result<std::span<const std::uint64_t>> allowed_by_grammar(std::size_t vocab_size);
  // What is left after all processors, in memory of the thread; at least one.
  Result<Candidates*> process(std::span<const float> logits, std::int64_t position, Use use);

  std::shared_ptr<const Plan> plan_;
  std::optional<grammar::Matcher> grammar_;
  bool broken_ = false;  // was told to accept what does not fit the grammar
  History history_;
  double mirostat_mu_;
  Candidates mirostat_row_;  // what the last row left, with mirostat
  Results results_;
};

}  // namespace millrace::decode
