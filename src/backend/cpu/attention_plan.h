#pragma once

#include <vector>

#include "backend/cpu/kernels.h"

namespace millrace::backend::cpu {

// How one attention is cut for the workers; read by its phases.
struct AttentionPlan {
  static constexpr std::size_t kNoPartial = ~std::size_t{0};

  struct Task {
    AttendRows rows;
    std::int64_t cost;
    std::size_t partial = kNoPartial;  // offset in floats of this task's state
  };
  // Where the merge of a sequence's splits finds its partial states.
  struct Merge {
    std::int64_t rows;  // tokens * group
    std::int64_t n_splits;
    std::size_t first_partial;  // offset in floats
    AttendRows target;
  };

  std::vector<Task> tasks;
  std::vector<Merge> merges;
  std::size_t partial_floats = 0;
};

}  // namespace millrace::backend::cpu
