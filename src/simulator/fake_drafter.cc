#include "simulator/fake_drafter.h"

#include "base/check.h"

namespace millrace::simulator {

void FakeDrafter::draft(std::span<draft::Task> tasks) {
  const auto vocabulary = static_cast<std::int64_t>(logits_.size());
  for (draft::Task& task : tasks) {
    if (drafting_.computes) {
      CHECK_LE(std::ssize(task.tokens) + task.most - 1, std::ssize(task.pages) * block_tokens_);
    }
    Text& known = texts_[task.sequence];
    for (; known.tokens < task.tokens.size(); ++known.tokens) known.text.append(task.tokens[known.tokens]);
    FakeText text = known.text;
    decode::LogitsPipeline pipeline = *task.pipeline;
    for (std::int64_t j = 0; j < task.most; ++j) {
      text.logits(logits_);
      const auto drawn = pipeline.sample(logits_, std::ssize(task.tokens) + j);
      if (!drawn) break;
      const bool right = random_.chance(drafting_.right_percent);
      const auto token = right ? *drawn : static_cast<std::int32_t>(random_.in(0, vocabulary - 1));
      task.drafts.push_back({token, static_cast<float>(random_.unit())});
      pipeline.accept(token);
      text.append(token);
    }
  }
}

}  // namespace millrace::simulator
