#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/kernel_op.h"
#include "kv/kv_store.h"

namespace millrace::bench {

// Random keys and values of `sequences` sequences of `context` tokens in several layers, for attention operations. Each
// call reads another layer, so that its data come from memory.
class PagedKeys {
 public:
  PagedKeys(const KernelSizes& sizes, const KernelContext& context, const KernelSizes::Cache& cache,
            std::int64_t sequences, std::int64_t context_tokens);

  Json labels() const;                              // of the cache, for the report
  std::string description() const;                  // the same for the table: "bf16 paged32:32"
  backend::Arithmetic arithmetic() const noexcept;  // the arithmetic that attention over it uses
  std::int64_t context_tokens() const noexcept { return tokens_; }
  double layer_bytes() const noexcept;  // read by one call
  backend::KvPages next_layer() noexcept;
  std::span<const std::int32_t> pages_of(std::int64_t sequence) const noexcept;

 private:
  void fill(const KernelContext& context);

  KernelSizes::Cache cache_;
  std::int64_t sequences_, tokens_, pages_per_sequence_, layers_;
  std::size_t page_bytes_ = 0;  // of one layer
  std::unique_ptr<kv::KvStore> store_;
  std::vector<std::int32_t> pages_;
  std::int64_t next_ = 0;
};

// The values of --rows that are possible numbers of decoding sequences: up to 64, the engine's default limit. Throws
// LoadError if there is none.
std::vector<std::int64_t> decoding_rows(const KernelSizes& sizes);

// The case of attending the rows of `sequences`, which are all of `keys` and have their tokens at its end. An average
// row sees `visible` keys. `keys` outlives the case.
KernelCase attention_case(const KernelSizes& sizes, const KernelContext& context, PagedKeys& keys,
                          std::vector<backend::SequenceRows> sequences, double visible);

}  // namespace millrace::bench
