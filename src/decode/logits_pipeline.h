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

// kInternal: what came out of the computation for this position (an index in the whole sequence) are not numbers.
Error broken_logits(std::int64_t position);

// The one path from a row of logits to a token. The processors that the parameters ask for are listed once, when it is
// made: bans and bias, then `samplers` in their order (docs/decode.md). Greedy sampling and scores() see what bans and
// changes logits, not what shapes the distribution. The sample is Gumbel-max over noise of (seed, position, token).
//
// One per sequence and thread: it remembers what was said. A copy behaves on independently and is cheap (what it
// remembers of the answer is copied, parameters and prompt are shared); only observe and accept change what comes out.
//
// Asked for a row, each answers kInternal where a logit is NaN or none is finite, never a random token, and
// kInvalidArgument where bans leave none. `position` is the new token's index in the whole sequence. Tokens that do not
// fit the grammar are as if banned. Spans live until the next call on the object.
class LogitsPipeline {
 public:
  // `params` are valid. Until the answer has min_tokens, neither stop_token_ids nor those of `end_of_generation` are
  // sampled. `grammar` stands where the answer begins.
  LogitsPipeline(const SamplingParams& params, std::int64_t vocab_size,
                 std::span<const std::int32_t> end_of_generation = {},
                 std::optional<grammar::Matcher> grammar = std::nullopt);

  // Tokens of the prompt, before the first accept.
  void observe(std::span<const std::int32_t> tokens);
  // The next one of the answer, sampled by sample() or not. Mirostat takes its surprise from the last row that sample()
  // or distribution() saw, and learns nothing from a token that was out of the question there.
  void accept(std::int32_t token);

  // The token.
  Result<std::int32_t> sample(std::span<const float> logits, std::int64_t position);
  // Exactly what sample() samples from at this position: ascending by token, those of probability > 0, their sum 1 but
  // for rounding. Greedy: one token. XTC's coin is part of the position.
  Result<std::span<const TokenProbability>> distribution(std::span<const float> logits, std::int64_t position);
  // log_softmax of the row after bans, bias and penalties: the n likeliest (fewer if there are not as many), the
  // likeliest first, equal ones by id. For beams.
  Result<std::span<const ScoredToken>> scores(std::span<const float> logits, std::int64_t position, std::size_t n);

  // The answer is what its grammar asks for, and nothing can follow.
  bool must_end() const { return grammar_ && grammar_->must_end(); }
  // Whether there is a grammar. Those are used by one thread; other pipelines may sample side by side.
  bool constrained() const noexcept { return grammar_.has_value(); }
  // Where the answer stands in its grammar; nothing where anything goes.
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
