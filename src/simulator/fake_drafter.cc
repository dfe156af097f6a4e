#include "simulator/fake_drafter.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::simulator {

std::int32_t FakeDrafter::draft_token(std::int32_t sampled) {
  if (random_.chance(drafting_.right_percent)) return sampled;
  return static_cast<std::int32_t>(random_.in(0, std::ssize(logits_) - 1));
}

void FakeDrafter::draft(std::span<draft::Task> tasks) {
  for (draft::Task& task : tasks) {
    if (drafting_.computes) {
      CHECK_LE(std::ssize(task.tokens) + task.most - 1, std::ssize(task.pages) * block_tokens_);
    }
    Text& known = texts_[task.sequence];
    for (; known.tokens < task.tokens.size(); ++known.tokens) known.text.append(task.tokens[known.tokens]);
    extend(task, known.text, *task.pipeline, task.drafts, 0);
    for (std::int64_t i = 0; i < task.further_branches && !task.drafts.empty(); ++i) add_branch(task, known.text);
  }
}

// Most branches are right where the draft is not, or only for as long.
void FakeDrafter::add_branch(draft::Task& task, FakeText text) {
  draft::Branch branch{.from = random_.in(0, std::ssize(task.drafts) - 1), .tokens = {}};
  decode::LogitsPipeline pipeline = *task.pipeline;
  for (std::int64_t j = 0; j < branch.from; ++j) {
    const std::int32_t token = task.drafts[static_cast<std::size_t>(j)].token;
    pipeline.accept(token);
    text.append(token);
  }
  extend(task, text, pipeline, branch.tokens, branch.from);
  if (branch.tokens.empty()) return;
  const std::int32_t first = branch.tokens.front().token;
  if (first == task.drafts[static_cast<std::size_t>(branch.from)].token) return;
  const auto alike = [&](const draft::Branch& b) { return b.from == branch.from && b.tokens.front().token == first; };
  if (std::ranges::none_of(task.branches, alike)) task.branches.push_back(std::move(branch));
}

// What follows on the text, from the task's token `from` on.
void FakeDrafter::extend(const draft::Task& task, FakeText text, decode::LogitsPipeline pipeline,
                         std::vector<draft::Token>& tokens, std::int64_t from) {
  for (std::int64_t j = from; j < task.most; ++j) {
    text.logits(logits_);
    const auto sampled = pipeline.sample(logits_, std::ssize(task.tokens) + j);
    if (!sampled) break;
    const std::int32_t token = draft_token(*sampled);
    tokens.push_back({token, static_cast<float>(random_.unit())});
    pipeline.accept(token);
    text.append(token);
  }
}

}  // namespace millrace::simulator
