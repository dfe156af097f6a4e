#include "draft/draft_rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  input.tokens.insert(input.tokens.end(), tokens.begin(), tokens.end());
}

void want_last_row(model::BatchInput& input) { input.logit_rows.push_back(std::ssize(input.tokens) - 1); }

}  // namespace

// What the first token may be instead.
void DraftRounds::branch(const Active& active, std::span<const float> logits, std::int32_t drawn) {
  Task& task = *active.task;
  decode::LogitsPipeline pipeline = active.pipeline;  // which rows it saw may count for what it draws next
  others_.assign(logits.begin(), logits.end());
  while (std::ssize(task.branches) < task.most_branches) {
    others_[static_cast<std::size_t>(drawn)] = -std::numeric_limits<float>::infinity();
    const auto next = pipeline.sample(others_, std::ssize(task.tokens));
    if (!next) return;
    const auto score = scorer_.score(logits, *next, 0);
    if (!score) return;
    task.branches.push_back({.from = 0, .tokens = {{*next, std::exp(score->chosen.logprob)}}});
    drawn = *next;
  }
}

// Whether the draft goes on.
bool DraftRounds::draw(Active& active, std::span<const float> logits) {
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
  if (task.drafts.empty() && task.most_branches > 0) branch(active, logits, *token);
  active.pipeline.accept(*token);
  task.drafts.push_back({*token, confidence});
  active.reached *= static_cast<double>(confidence);
  return std::ssize(task.drafts) < task.most && active.reached >= kHopeless;
}

void DraftRounds::run(std::span<Task> tasks, std::span<std::int64_t> computed, const Forward& forward,
                      std::int64_t lag) {
  model::BatchInput input;
  std::vector<Active> active;
  std::int64_t room = kCatchUpTokens;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks[i];
    if (task.most <= 0) continue;
    const std::int64_t missing = std::ssize(task.tokens) - lag - computed[i];
    const std::int64_t n = std::min(missing, room);
    if (n <= 0) continue;
    add_rows(input, task, computed[i],
             task.tokens.subspan(static_cast<std::size_t>(computed[i] + lag), static_cast<std::size_t>(n)));
    room -= n;
    computed[i] += n;
    if (n < missing) continue;
    want_last_row(input);
    active.push_back({&task, *task.pipeline});
  }
  while (!input.tokens.empty()) {
    const TensorView logits = forward(input);
    std::int64_t row = 0;
    std::erase_if(
        active, [&](Active& one) { return !draw(one, {logits.row(row++), static_cast<std::size_t>(logits.cols())}); });
    input = {};
    for (const Active& one : active) {
      const std::int32_t last = one.task->drafts.back().token;
      add_rows(input, *one.task, std::ssize(one.task->tokens) + std::ssize(one.task->drafts) - 1 - lag, {&last, 1});
      want_last_row(input);
    }
  }
}

}  // namespace millrace::draft
