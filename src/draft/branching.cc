#include "draft/branching.h"

#include <algorithm>
#include <vector>

namespace millrace::draft {
namespace {

// Places that leave the draft at the same token for the same other one.
struct Fork {
  std::int64_t from = 0;
  const Place* place = nullptr;  // the one that is most alike, and of equal ones the first
  double weight = 0.0;
  double confidence = 0.0;
  double reached = 0.0;  // confidence that all until its first token are right, that included

  std::int32_t token() const { return place->text[static_cast<std::size_t>(place->next + from)]; }
};

bool has(const Place& place, std::int64_t j) {
  const std::int64_t at = place.next + j;
  return at < std::ssize(place.text) && place.text[static_cast<std::size_t>(at)] >= 0;
}

std::int64_t tokens_as_drafted(const Place& place, const std::vector<Token>& drafts) {
  std::int64_t n = 0;
  while (n < std::ssize(drafts) && has(place, n) &&
         place.text[static_cast<std::size_t>(place.next + n)] == drafts[static_cast<std::size_t>(n)].token) {
    ++n;
  }
  return n;
}

// `weight_at[j]`: of the places that are as the draft up to its token j.
std::vector<Fork> forks_of(const Task& task, std::span<const Place> places, std::vector<double>& weight_at) {
  std::vector<Fork> forks;
  weight_at.assign(task.drafts.size() + 1, 0.0);
  for (const Place& place : places) {
    const std::int64_t from = tokens_as_drafted(place, task.drafts);
    const auto weight = static_cast<double>(place.alike);
    for (std::int64_t j = 0; j <= from; ++j) weight_at[static_cast<std::size_t>(j)] += weight;
    if (from == std::ssize(task.drafts) || !has(place, from)) continue;
    const std::int32_t token = place.text[static_cast<std::size_t>(place.next + from)];
    auto fork = std::ranges::find_if(forks, [&](const Fork& f) { return f.from == from && f.token() == token; });
    if (fork == forks.end()) fork = forks.insert(fork, {.from = from, .place = &place});
    fork->weight += weight;
    if (place.alike > fork->place->alike) fork->place = &place;
  }
  return forks;
}

Branch branch_of(const Fork& fork, std::int64_t most) {
  Branch branch{.from = fork.from, .tokens = {{fork.token(), static_cast<float>(fork.confidence)}}};
  for (std::int64_t j = fork.from + 1; j < most && has(*fork.place, j); ++j) {
    branch.tokens.push_back(
        {fork.place->text[static_cast<std::size_t>(fork.place->next + j)], confidence_of(fork.place->alike + j)});
  }
  return branch;
}

}  // namespace

void branch_off(Task& task, std::span<const Place> places) {
  if (task.further_branches == 0 || task.drafts.empty()) return;
  std::vector<double> weight_at;
  std::vector<Fork> forks = forks_of(task, places, weight_at);
  for (Fork& fork : forks) {
    const double share = fork.weight / weight_at[static_cast<std::size_t>(fork.from)];
    fork.confidence = share * static_cast<double>(confidence_of(fork.place->alike + fork.from));
    fork.reached = fork.confidence;
    for (std::int64_t j = 0; j < fork.from; ++j) {
      fork.reached *= static_cast<double>(task.drafts[static_cast<std::size_t>(j)].confidence);
    }
  }
  std::ranges::stable_sort(forks, std::ranges::greater(), &Fork::reached);
  if (std::ssize(forks) > task.further_branches) forks.resize(static_cast<std::size_t>(task.further_branches));
  for (const Fork& fork : forks) task.branches.push_back(branch_of(fork, task.most));
}

}  // namespace millrace::draft
