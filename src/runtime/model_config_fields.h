#pragma once

#include "base/byte_archive.h"
#include "runtime/model_config.h"

// What rank 0 says to other ranks of the model that they are to load.

namespace millrace::runtime {

template <typename Archive>
void visit_fields(Archive& archive, RankConfig& ranks) {
  archive(ranks.tensor_parallel_size, ranks.tensor_parallel_shares, ranks.pipeline_parallel_size,
          ranks.pipeline_parallel_shares, ranks.allow_oversubscription, ranks.distributed_executor_backend,
          ranks.trusted_network);
}
template <typename Archive>
void visit_fields(Archive& archive, ModelConfig& config) {
  archive(config.path, config.device, config.threads, config.cpu_isa, config.kv_cache_dtype, config.kv_exceptions,
          config.kv_layout, config.block_size, config.matmul_precision, config.quantization, config.iq_panels,
          config.imatrix, config.memory, config.merged_lora, config.max_model_len, config.packed_cache,
          config.packed_cache_limit, config.ranks, config.file_times);
}

}  // namespace millrace::runtime
