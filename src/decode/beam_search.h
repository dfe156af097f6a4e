#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "decode/logits_pipeline.h"

namespace millrace::decode {

// When a search ends before its longest answers do.
enum class EarlyStopping {
  kFull,       // early_stopping=True: once there are as many finished answers as beams
  kHeuristic,  // False: once the best live beam, taken as ending now, is no better than the worst finished one
  kNever,      // "never": once it could not become better, by length_penalty up to max_tokens
};

struct BeamOptions {
  int width = 1;                // beams of all groups; [1, 64]
  double length_penalty = 1.0;  // a finished answer's score is its log probability over length^this; [-10, 10]
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;
  int groups = 1;                  // diverse beam search (arXiv:1610.02424); divides width
  double diversity_penalty = 0.0;  // off a token's score for each beam of an earlier group that takes it; [0, 100]
  std::vector<std::int32_t> end_tokens;  // an answer is finished with one of them
  std::int64_t max_tokens = 1;           // or when it has so many; >= 1

  // kInvalidArgument naming the field, the value and the limit.
  Result<void> validate() const;
};

// Which beams live on, which answers are finished and when there is enough: host logic that sees scores alone. The
// semantics are those of GenerationMixin._beam_search of Hugging Face (transformers 5), for each group where there are
// several, with the penalty of its HammingDiversityLogitsProcessor. Where rows have too few tokens there are fewer
// beams (Hugging Face fills up with some of score -1e9). Equal scores go to the lower beam, then to the lower token. A
// function of options and rows.
class BeamSearch {
 public:
  struct Beam {
    int parent = 0;          // of this step: its index among the beams that lived before
    std::int32_t token = 0;  // that it goes on with
    double score = 0.0;      // sum of log probabilities, less diversity penalties
    int group = 0;
    std::vector<std::int32_t> tokens;  // of the answer so far
  };
  struct Hypothesis {
    double score = 0.0;  // with the length penalty
    double logprob = 0.0;
    std::vector<std::int32_t> tokens;  // with the one that ended it
  };

  explicit BeamSearch(BeamOptions options);  // valid ones
  const BeamOptions& options() const noexcept { return options_; }

  // Before the first step one beam a group, each of the prompt alone; parent and token mean nothing then. None once
  // the search is done.
  std::span<const Beam> live() const noexcept { return state_.live; }
  bool done() const noexcept { return state_.live.empty(); }
  // How many of the likeliest tokens step() wants of each live beam; fewer only where there are no more.
  std::size_t row_width() const noexcept;

  // One token more: rows[i] are the scores of what may follow live()[i], the likeliest first (LogitsPipeline::scores).
  // Afterwards live() are the survivors: a parent that none names is not needed any more, one that several name is
  // forked. O(width * row_width) and the copies of tokens.
  void step(std::span<const std::span<const ScoredToken>> rows);

  // Finished answers of all groups, the best first, at most `width`. Final once done.
  std::vector<Hypothesis> finished() const;

  // How far the search is: all that it has besides its options.
  struct Group {
    std::vector<Hypothesis> finished;  // the best first, at most as many as it has beams
    bool done = false;
  };
  struct State {
    std::int64_t length = 0;  // tokens of each live beam
    std::vector<Beam> live;
    std::vector<Group> groups;  // [options.groups]
  };
  const State& state() const noexcept { return state_; }
  // Of a search with the same options. kInvalidArgument where it cannot be: other numbers of groups or beams.
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
