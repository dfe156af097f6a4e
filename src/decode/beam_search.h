#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "decode/logits_pipeline.h"

namespace millrace::decode {

// When a beam search ends.
enum class EarlyStopping {
  kFull,       // early_stopping=True: when there are as many finished answers as beams
  kHeuristic,  // False: when the best live beam, if it ended now, would be no better than the worst finished one
  kNever,      // "never": when no live beam can become better than that, by length_penalty and up to max_tokens
};

struct BeamOptions {
  int width = 1;  // beams of all groups together; [1, 64]
  // Exponent: a finished answer's score is its log probability over its length to this power; [-10, 10].
  double length_penalty = 1.0;
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;
  int groups = 1;  // diverse beam search (arXiv:1610.02424); divides width
  // Subtracted from a token's score for each beam of an earlier group that takes it; [0, 100].
  double diversity_penalty = 0.0;
  std::vector<std::int32_t> end_tokens;  // tokens that finish an answer
  std::int64_t max_tokens = 1;           // length at which an answer is finished too; >= 1

  // Checks all fields. kInvalidArgument names the field, the value and the limit.
  Result<void> validate() const;
};

// Beam search on the host: which beams live on, which answers are finished, and when to end. It sees scores only, and
// is a function of options and rows. The semantics are those of GenerationMixin._beam_search of Hugging Face
// (transformers 5), within each group if there are several, with the penalty of its HammingDiversityLogitsProcessor.
// Where rows have too few tokens there are fewer beams (Hugging Face fills up with beams of score -1e9). Equal scores
// go to the lower beam, then to the lower token. One thread.
class BeamSearch {
 public:
  struct Beam {
    int parent = 0;          // index among the beams that were live before the last step
    std::int32_t token = 0;  // the token that the last step added
    double score = 0.0;      // sum of log probabilities, minus diversity penalties
    int group = 0;
    std::vector<std::int32_t> tokens;  // of the answer so far
  };
  struct Hypothesis {
    double score = 0.0;  // with length penalty
    double logprob = 0.0;
    std::vector<std::int32_t> tokens;  // of the answer, the one that ended it included
  };

  explicit BeamSearch(BeamOptions options);  // `options` are valid
  const BeamOptions& options() const noexcept { return options_; }

  // The live beams. Before the first step there is one per group, with no token; its parent and token have no meaning.
  // Empty when the search is done.
  std::span<const Beam> live() const noexcept { return state_.live; }
  bool done() const noexcept { return state_.live.empty(); }
  // The number of likeliest tokens that step() needs for each live beam. A row may have fewer only if the vocabulary
  // has.
  std::size_t row_width() const noexcept;

  // Adds one token. rows[i] are the scores of the tokens that may follow live()[i], the likeliest first
  // (LogitsPipeline::scores). Afterwards live() are the surviving beams: a parent named by none is no longer needed,
  // one named by several must be forked. O(width * row_width), and copies of the beams' tokens.
  void step(std::span<const std::span<const ScoredToken>> rows);

  // The best finished answers of all groups, the best first, at most `width`. Final when done().
  std::vector<Hypothesis> finished() const;

  // One group's part of a search.
  struct Group {
    std::vector<Hypothesis> finished;  // the best first, at most as many as it has beams
    bool done = false;
  };
  // How far a search is: all that it has besides its options.
  struct State {
    std::int64_t length = 0;  // tokens of each live beam
    std::vector<Beam> live;
    std::vector<Group> groups;  // [options.groups]
  };
  const State& state() const noexcept { return state_; }
  // Goes on from the state of a search with the same options. kInvalidArgument, naming the numbers, where groups or
  // beams are others than the options allow.
  Result<void> restore(State state);

 private:
  struct Candidate {
    double score;
    int parent;
    std::int32_t token;
  };
  std::size_t group_width() const noexcept { return static_cast<std::size_t>(options_.width / options_.groups); }
  std::size_t candidates_kept() const noexcept;
  std::vector<Candidate> candidates_of(int group, std::span<const std::span<const ScoredToken>> rows,
                                       std::span<const std::int32_t> taken) const;
  std::vector<Beam> step_group(int group, const std::vector<Candidate>& candidates, std::vector<std::int32_t>& taken);
  void finish(Group& group, const Candidate& candidate);
  bool may_improve(const Group& group, double best_live) const;
  double penalised(double logprob, std::int64_t length) const;

  BeamOptions options_;
  State state_;
};

}  // namespace millrace::decode
