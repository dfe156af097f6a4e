#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "model/load_quantization.h"
#include "model/model_spec.h"
#include "model/shard.h"
#include "model/weights/checkpoint_weights.h"
#include "tensor/dtype.h"

namespace millrace::model {

// Memory that a model will take on the CPU, in bytes. Computed from the directory of tensors; of the weights it reads
// only what decides how they are packed, such as zero points.
struct MemoryPlan {
  std::uint64_t weights = 0;    // packed for the kernels; Transformer::weight_bytes() without vectors
  std::uint64_t experts = 0;    // of `weights`, those of experts
  std::uint64_t kv = 0;         // of `length` tokens, in whole pages
  std::uint64_t workspace = 0;  // activations of a step of `step_tokens` tokens; the logits are not counted
  std::uint64_t read = 0;       // of the matrices in the checkpoint
  double multiplied = 0.0;      // numbers that a token is multiplied with, were it to go through all experts
  std::uint64_t total() const noexcept { return weights + kv + workspace; }
};

struct MemoryPlanOptions {
  backend::MatmulPrecision precision = backend::MatmulPrecision::kAuto;
  LoadQuantization quantization = {};
  backend::KvFormat kv;
  std::int64_t length = 0;  // tokens of all sequences together
  std::int64_t step_tokens = 512;
  // How many sequences run at once: layers with a window keep no more than these see. 0: all layers keep all tokens.
  std::int64_t sequences = 0;
  // The part of one rank; null: the whole model.
  const Shards* shards = nullptr;
  int rank = 0;
};

// Computes the plan. Throws LoadError.
MemoryPlan plan_memory(const CheckpointWeights& weights, const ModelSpec& spec, const backend::Backend& backend,
                       const MemoryPlanOptions& options);

// Bytes of the keys and values of one token in all layers, whose needs are kv_needs() or those of a rank. `format`
// gives encoding and exceptions.
std::uint64_t kv_bytes_per_token(std::span<const kv::KvNeed> needs, const backend::KvFormat& format,
                                 const backend::Backend& backend);
std::uint64_t kv_bytes_per_token(const ModelSpec& spec, const backend::KvFormat& format,
                                 const backend::Backend& backend);

}  // namespace millrace::model
