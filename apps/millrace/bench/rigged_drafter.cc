#include "bench/rigged_drafter.h"

namespace millrace::bench {

void RiggedDrafter::draft(std::span<draft::Task> tasks) {
  drafter_->draft(tasks);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (draft::Task& task : tasks) {
    task.drafts.resize(static_cast<std::size_t>(task.most));
    for (std::size_t j = 0; j < task.drafts.size(); ++j) {
      const auto next = static_cast<std::size_t>(std::ssize(task.tokens) - task.prompt_tokens) + j;
      const std::int32_t token = next < answer_.size() ? answer_[next] : 0;
      task.drafts[j] = {uniform(random_) < acceptance_ ? token : token ^ 1, static_cast<float>(acceptance_)};
    }
  }
}

}  // namespace millrace::bench
