#include "draft/draft_rounds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace millrace::draft {
namespace {

constexpr double kHopeless = 0.02;  // a draft ends where all of it is right with less probability

void add_rows(model::BatchInput& input, const Task& task, std::int64_t first, std::span<const std::int32_t> tokens) {
  backend::SequenceRows rows;
  rows.first_row = static_cast<std::int64_t>(input.tokens.size());
  rows.n_rows = std::ssize(tokens);
  rows.first_position = first;
  rows.pages = task.pages;
  input.sequences.push_back(rows);
  input.window_pages.push_back(task.window_pages);
  input.tokens.insert(input.tokens.end(), tokens.begin(), tokens.end());
}

void want_last_row(model::BatchInput& input) { input.logit_rows.push_back(std::ssize(input.tokens) - 1); }

}  // namespace

// What the draft's next token may be instead. It is sampled only where it may be likelier than the branches so far:
// what was not sampled has no more than the rest of the probability.
void DraftRounds::branch(Active& active, std::span<const float> logits, Token sampled) {
  Task& task = *active.task;
  const std::int64_t from = std::ssize(task.drafts);
  std::optional<decode::LogitsPipeline> pipeline;  // a copy: which rows it saw may count for what it samples next
  double rest = 1.0;
  for (std::int64_t tried = 0; tried < task.further_branches; ++tried) {
    rest -= static_cast<double>(sampled.confidence);
    const bool full = std::ssize(task.branches) == task.further_branches;
    if (rest <= 0.0 || (full && active.reached * rest <= active.branches_reached.back())) return;
    if (!pipeline) {
      pipeline = active.pipeline;
      others_.assign(logits.begin(), logits.end());
    }
    others_[static_cast<std::size_t>(sampled.token)] = -std::numeric_limits<float>::infinity();
    const auto next = pipeline->sample(others_, std::ssize(task.tokens) + from);
    if (!next) return;
    const auto score = scorer_.score(logits, *next, 0);
    if (!score) return;
    sampled = {*next, std::exp(score->chosen.logprob)};
    const double reached = active.reached * static_cast<double>(sampled.confidence);
    const auto at = std::ranges::upper_bound(active.branches_reached, reached, std::ranges::greater());
    task.branches.insert(task.branches.begin() + (at - active.branches_reached.begin()),
                         {.from = from, .tokens = {sampled}});
    active.branches_reached.insert(at, reached);
    if (!full) continue;
    task.branches.pop_back();
    active.branches_reached.pop_back();
  }
}

// Whether the draft goes on.
bool DraftRounds::sample(Active& active, std::span<const float> logits) {
  Task& task = *active.task;
  const std::int64_t position = std::ssize(task.tokens) + std::ssize(task.drafts);
  const auto token = active.pipeline.sample(logits, position);
  if (!token) return false;
  const auto score = scorer_.score(logits, *token, 0);
  if (!score) return false;
  const float confidence = std::exp(score->chosen.logprob);
  if (task.wants_distributions) {
    const auto from = active.pipeline.distribution(logits, position);
    if (!from) return false;
    task.distributions.emplace_back(from->begin(), from->end());
  }
  if (task.further_branches > 0) branch(active, logits, {*token, confidence});
  active.pipeline.accept(*token);
  task.drafts.push_back({*token, confidence});
  active.reached *= static_cast<double>(confidence);
  return std::ssize(task.drafts) < task.most && active.reached >= kHopeless;
}

// Operations that are recorded before one fails are done while what they point to is there.
TensorView DraftRounds::pass(const Forward& forward, const model::BatchInput& input) try {
  return forward(input);
} catch (...) {
  backend_.synchronize();
  throw;
}

void DraftRounds::run(std::span<Task> tasks, std::span<std::int64_t> computed, const Forward& forward,
                      std::int64_t lag) {
  model::BatchInput input;
  std::vector<Active> active;
  std::int64_t room = kCatchUpTokens;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks[i];
    if (task.most <= 0 || std::ssize(active) == max_) continue;
    const std::int64_t missing = std::ssize(task.tokens) - lag - computed[i];
    const std::int64_t n = std::min(missing, room);
    if (n <= 0) continue;
    add_rows(input, task, computed[i],
             task.tokens.subspan(static_cast<std::size_t>(computed[i] + lag), static_cast<std::size_t>(n)));
    room -= n;
    computed[i] += n;
    if (n < missing) continue;
    want_last_row(input);
    active.push_back({.task = &task, .pipeline = *task.pipeline, .branches_reached = {}});
  }
  while (!input.tokens.empty()) {
    const TensorView logits = pass(forward, input);
    std::int64_t row = 0;
    std::erase_if(active, [&](Active& one) {
      return !sample(one, {logits.row(row++), static_cast<std::size_t>(logits.cols())});
    });
    input = {};
    for (const Active& one : active) {
      const std::int32_t last = one.task->drafts.back().token;
      add_rows(input, *one.task, std::ssize(one.task->tokens) + std::ssize(one.task->drafts) - 1 - lag, {&last, 1});
      want_last_row(input);
    }
  }
}

}  // namespace millrace::draft
