#include "bench/paged_keys.h"

namespace millrace::bench::ops {
namespace {

// Decoding: each of `rows` sequences has one new token that looks back on `context` tokens.
void attention_decode_cases(const KernelSizes& sizes, const KernelContext& context,
                            const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Cache& cache : sizes.caches) {
    for (const std::int64_t tokens : sizes.contexts) {
      for (const std::int64_t rows : decoding_rows(sizes)) {
        PagedKeys keys(sizes, context, cache, rows, tokens);
        std::vector<backend::SequenceRows> sequences;
        for (std::int64_t s = 0; s < rows; ++s) {
          sequences.push_back({.first_row = s, .n_rows = 1, .first_position = tokens - 1, .pages = keys.pages_of(s)});
        }
        visit(attention_case(sizes, context, keys, std::move(sequences), static_cast<double>(tokens)));
      }
    }
  }
}

}  // namespace

KernelOp attention_decode() {
  return {"attention_decode", "attention of one new token of each of --rows sequences over --context keys and values",
          attention_decode_cases};
}

}  // namespace millrace::bench::ops
