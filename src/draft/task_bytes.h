#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "draft/drafter.h"

namespace millrace::draft {

// Tasks as they travel to a drafter in another process, beside an executor that computes there. The pipeline goes as
// its parameters and is rebuilt from the tokens: O(tokens) a task. A grammar does not go, nor do the tokens of DRY's
// sequence breakers: the engine drops draft tokens that do not fit (keep_fitting), so that they cost acceptance alone.
std::vector<std::byte> to_bytes(std::span<const Task> tasks);

// What came: tasks with all that they point to.
class ReceivedTasks {
 public:
  struct Limits {
    std::int64_t vocab_size = 0;
    std::int32_t pages = 0;  // of the executor
    std::int64_t block_tokens = 0;
    std::int32_t window_pages = 0;
  };
  // `end_of_generation` are the model's. kInvalidArgument naming "tasks" where bytes are no tasks, or a token, a page
  // or a limit is out of range.
  static Result<ReceivedTasks> read(std::span<const std::byte> bytes, const Limits& limits,
                                    std::span<const std::int32_t> end_of_generation = {});

  std::span<Task> tasks() noexcept { return tasks_; }

 private:
  std::vector<Task> tasks_;
  std::vector<std::shared_ptr<const void>> memory_;  // what they point to
};

// What was drafted, back to who sent the tasks: drafts, distributions and branches, in their order.
std::vector<std::byte> drafts_to_bytes(std::span<const Task> tasks);
// Errors are those of read(); then the tasks have no drafts.
Result<void> read_drafts(std::span<const std::byte> bytes, std::int64_t vocab_size, std::span<Task> tasks);

}  // namespace millrace::draft
