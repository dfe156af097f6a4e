#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/kernel_op.h"
#include "kv/kv_store.h"

namespace millrace::bench {

// A KV cache filled with random numbers, as operand of attention. Its layers are copies of equal size (copies_of()): a
// call that uses the next layer reads from memory instead of a CPU cache. The backend must outlive it. One thread.
class PagedKeys {
 public:
  // Throws LoadError: kResourceExhausted naming "context" if the layers do not fit.
  PagedKeys(const KernelSizes& sizes, const KernelContext& context, const KernelSizes::Cache& cache,
            std::int64_t sequences, std::int64_t context_tokens);

  Json labels() const;                              // members of the report that describe the cache
  std::string description() const;                  // the same for the table: "bf16 paged32:32"
  backend::Arithmetic arithmetic() const noexcept;  // that attention over this data type uses
  std::int64_t context_tokens() const noexcept { return tokens_; }
  double layer_bytes() const noexcept;  // bytes that attention over all sequences of a layer reads
  // The next layer, in turn.
  backend::KvPages next_layer() noexcept;
  // The page indices of a sequence, in [0, sequences), in the order of its tokens.
  std::span<const std::int32_t> pages_of(std::int64_t sequence) const noexcept;

 private:
  void fill(const KernelContext& context);

  KernelSizes::Cache cache_;
  std::int64_t sequences_, tokens_, pages_per_sequence_, layers_;
  std::size_t page_bytes_ = 0;  // of a page in one layer
  std::unique_ptr<kv::KvStore> store_;
  std::vector<std::int32_t> pages_;
  std::int64_t next_ = 0;
};

// The values of --rows that are numbers of sequences decoding together: at most 64, the default of --max-num-seqs.
// Throws LoadError (kInvalidArgument) naming "rows" if there is none.
std::vector<std::int64_t> decoding_rows(const KernelSizes& sizes);

// A case of attention for the rows of `sequences`, which must be all sequences of `keys`, each with its rows at the end
// of its context. `visible` is the mean number of keys that a row sees. `context` and `keys` must outlive the case.
KernelCase attention_case(const KernelSizes& sizes, const KernelContext& context, PagedKeys& keys,
                          std::vector<backend::SequenceRows> sequences, double visible);

}  // namespace millrace::bench
