#include <algorithm>
#include "bench/paged_keys.h"

namespace millrace::bench::ops {
namespace {

// A chunk of a prompt: the last `rows` tokens of one sequence of `context` tokens, or of `rows` if those are more.
void attention_prefill_cases(const KernelSizes& sizes, const KernelContext& context,
                             const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Cache& cache : sizes.caches) {
    for (const std::int64_t asked : sizes.contexts) {
      for (const std::int64_t rows : sizes.rows) {
        const std::int64_t tokens = std::max(asked, rows);
        PagedKeys keys(sizes, context, cache, 1, tokens);
        const backend::SequenceRows sequence{
            .first_row = 0, .n_rows = rows, .first_position = tokens - rows, .pages = keys.pages_of(0)};
        const double visible = static_cast<double>(tokens) - static_cast<double>(rows - 1) / 2.0;  // of an average row
        visit(attention_case(sizes, context, keys, {sequence}, visible));
      }
    }
  }
}

}  // namespace

KernelOp attention_prefill() {
  return {"attention_prefill", "attention of the last --rows tokens of one sequence over --context keys and values",
          attention_prefill_cases};
}

}  // namespace millrace::bench::ops
