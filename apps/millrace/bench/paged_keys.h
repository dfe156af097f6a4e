#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/kernel_op.h"
#include "kv/kv_store.h"

namespace millrace::bench {

// Keys and values of `sequences` sequences of `context` tokens in several layers, filled with random numbers: what the
// attention operations read, a layer a call, so that each call finds its layer in memory.
class PagedKeys {
 public:
  PagedKeys(const KernelSizes& sizes, const KernelContext& context, const KernelSizes::Cache& cache,
            std::int64_t sequences, std::int64_t context_tokens);

  Json labels() const;                              // that say what the cache is, as the report names it
  std::string description() const;                  // the same for the table: "bf16 paged32:32"
  backend::Arithmetic arithmetic() const noexcept;  // what bounds attention over it
  std::int64_t context_tokens() const noexcept { return tokens_; }
  double layer_bytes() const noexcept;  // that one call reads
  backend::KvPages next_layer() noexcept;
  std::span<const std::int32_t> pages_of(std::int64_t sequence) const noexcept;

 private:
  void fill(const KernelContext& context);

  KernelSizes::Cache cache_;
  std::int64_t sequences_, tokens_, pages_per_sequence_, layers_;
  std::size_t page_bytes_ = 0;  // of a layer
  std::unique_ptr<kv::KvStore> store_;
  std::vector<std::int32_t> pages_;
  std::int64_t next_ = 0;
};

// The --rows that may be sequences decoding side by side: at most 64, as an engine runs at once unless told otherwise.
// Throws LoadError if there is none.
std::vector<std::int64_t> decoding_rows(const KernelSizes& sizes);

// The case of attending the rows of `sequences`, which are all of `keys` and have their tokens at its end. An average
// row sees `visible` keys. `keys` outlives the case.
KernelCase attention_case(const KernelSizes& sizes, const KernelContext& context, PagedKeys& keys,
                          std::vector<backend::SequenceRows> sequences, double visible);

}  // namespace millrace::bench
