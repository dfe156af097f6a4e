#include "decode/beam_search.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/portable_math.h"

namespace millrace::decode {
namespace {

constexpr int kMaxBeams = 64;

template <typename T>
Error wrong(const char* field, T value, const char* rule) {
  return make_error(ErrorCode::kInvalidArgument, field, "{} is {}: must be {}", field, value, rule);
}

}  // namespace

Result<void> BeamOptions::validate() const {
  if (width < 1 || width > kMaxBeams) return wrong("num_beams", width, "between 1 and 64");
  if (!(length_penalty >= -10.0 && length_penalty <= 10.0)) {
    return wrong("length_penalty", length_penalty, "between -10 and 10");
  }
  if (groups < 1 || groups > width || width % groups != 0) {
    return wrong("num_beam_groups", groups, "a divisor of num_beams");
  }
  if (!(diversity_penalty >= 0.0 && diversity_penalty <= 100.0)) {
    return wrong("diversity_penalty", diversity_penalty, "between 0 and 100");
  }
  if (max_tokens < 1) return wrong("max_tokens", max_tokens, "at least 1");
  return {};
}

BeamSearch::BeamSearch(BeamOptions options) : options_(std::move(options)) {
  state_.groups.resize(static_cast<std::size_t>(options_.groups));
  for (int group = 0; group < options_.groups; ++group) state_.live.push_back({.group = group});
}

Result<void> BeamSearch::restore(State state) {
  const auto fits = [&](const Beam& beam) {
    return beam.group >= 0 && beam.group < options_.groups && std::ssize(beam.tokens) == state.length;
  };
  if (std::ssize(state.groups) != options_.groups || std::ssize(state.live) > options_.width ||
      !std::ranges::all_of(state.live, fits)) {
    return make_error(ErrorCode::kInvalidArgument, "beams", "the beams are {} in {} groups: the search has {} in {}",
                      state.live.size(), state.groups.size(), options_.width, options_.groups);
  }
  state_ = std::move(state);
  return {};
}

// So many that, if all that end are among them, a group still has its beams (transformers: beams_to_keep).
std::size_t BeamSearch::candidates_kept() const noexcept {
  return std::max<std::size_t>(2, 1 + options_.end_tokens.size()) * group_width();
}

// Beams of earlier groups may push as many tokens down as they are.
std::size_t BeamSearch::row_width() const noexcept {
  const std::size_t pushed = options_.diversity_penalty > 0.0 ? options_.width - group_width() : 0;
  return candidates_kept() + pushed;
}

double BeamSearch::penalised(double logprob, std::int64_t length) const {
  return logprob / portable_exp(options_.length_penalty * portable_log(static_cast<double>(length)));
}

// What the beams of `group` may go on with, the best first, given what earlier groups' beams take.
std::vector<BeamSearch::Candidate> BeamSearch::candidates_of(int group,
                                                             std::span<const std::span<const ScoredToken>> rows,
                                                             std::span<const std::int32_t> taken) const {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < state_.live.size(); ++i) {
    if (state_.live[i].group != group) continue;
    for (const ScoredToken& next : rows[i].first(std::min(rows[i].size(), row_width()))) {
      const double times = static_cast<double>(std::ranges::count(taken, next.token));
      candidates.push_back({state_.live[i].score + (next.logprob - options_.diversity_penalty * times),
                            static_cast<int>(i), next.token});
    }
  }
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
  };
  std::ranges::sort(candidates, better);
  if (candidates.size() > candidates_kept()) candidates.resize(candidates_kept());
  return candidates;
}

void BeamSearch::finish(Group& group, const Candidate& candidate) {
  Hypothesis answer{.score = penalised(candidate.score, state_.length),
                    .logprob = candidate.score,
                    .tokens = state_.live[static_cast<std::size_t>(candidate.parent)].tokens};
  answer.tokens.push_back(candidate.token);
  const auto place =
      std::ranges::find_if(group.finished, [&](const Hypothesis& other) { return other.score < answer.score; });
  group.finished.insert(place, std::move(answer));
  if (group.finished.size() > group_width()) group.finished.pop_back();
}

bool BeamSearch::may_improve(const Group& group, double best_live) const {
  if (group.finished.size() < group_width()) return true;
  if (options_.early_stopping == EarlyStopping::kFull) return false;
  const bool longest = options_.early_stopping == EarlyStopping::kNever && options_.length_penalty > 0.0;
  return penalised(best_live, longest ? options_.max_tokens : state_.length) > group.finished.back().score;
}

// The beams that go on. Of the candidates that end, those among the first `width` are answers and the others nothing.
// `taken` gets the tokens of the beams, of the last ones too, which go on no more.
std::vector<BeamSearch::Beam> BeamSearch::step_group(int index, const std::vector<Candidate>& candidates,
                                                     std::vector<std::int32_t>& taken) {
  Group& group = state_.groups[static_cast<std::size_t>(index)];
  const bool longest = state_.length >= options_.max_tokens;
  std::vector<Beam> live;
  std::size_t beams = 0;
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    const Candidate& c = candidates[rank];
    const bool ends = std::ranges::find(options_.end_tokens, c.token) != options_.end_tokens.end();
    if ((ends || longest) && rank < group_width()) finish(group, c);
    if (ends || beams == group_width()) continue;
    ++beams;
    taken.push_back(c.token);
    if (longest) continue;
    live.push_back({.parent = c.parent,
                    .token = c.token,
                    .score = c.score,
                    .group = index,
                    .tokens = state_.live[static_cast<std::size_t>(c.parent)].tokens});
    live.back().tokens.push_back(c.token);
  }
  group.done = live.empty() || !may_improve(group, live.front().score);
  return live;
}

void BeamSearch::step(std::span<const std::span<const ScoredToken>> rows) {
  CHECK_EQ(rows.size(), state_.live.size());
  ++state_.length;
  std::vector<Beam> survivors;
  std::vector<std::int32_t> taken;
  for (int index = 0; index < options_.groups; ++index) {
    const Group& group = state_.groups[static_cast<std::size_t>(index)];
    if (group.done) continue;
    const std::vector<Candidate> candidates = candidates_of(index, rows, taken);
    std::vector<Beam> live = step_group(index, candidates, taken);
    if (!group.done) std::ranges::move(live, std::back_inserter(survivors));
  }
  state_.live = std::move(survivors);
}

std::vector<BeamSearch::Hypothesis> BeamSearch::finished() const {
  std::vector<Hypothesis> all;
  for (const Group& group : state_.groups) all.insert(all.end(), group.finished.begin(), group.finished.end());
  std::ranges::stable_sort(all, std::ranges::greater(), &Hypothesis::score);
  return all;
}

}  // namespace millrace::decode
