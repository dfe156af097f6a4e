#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {

// Weights of a checkpoint that are stored alike.
struct WeightPart {
  std::string stored;  // "4-bit, groups of 128", "q4_k", "bf16"
  bool quantized = false;
  bool as_f32 = false;  // see Coding
  std::int64_t matrices = 0, values = 0;
  std::uint64_t bytes = 0;   // with scales and all else that belongs to them
  std::string example = {};  // name and shape of one
};

// How the weights of a checkpoint are stored, and what the files say of how they came about.
struct WeightSummary {
  std::string method;             // "AWQ gemm", "Q4_K_M"; empty: the parts say it all
  std::string maker;              // "gptqmodel 7.7.0"; empty: unknown
  std::string calibration;        // "importance matrix of 125 chunks of wiki.txt"; empty: unknown
  std::vector<WeightPart> parts;  // matrices, those with most values first; then "vectors"
  std::int64_t parameters = 0;    // values that are no scales and the like
  std::uint64_t bytes = 0;        // of all tensors

  // The bits of all tensors for each parameter: scales count.
  double bits_per_weight() const noexcept;
  // Method and parts: "GPTQ: 4-bit, groups of 128", "Q4_K_M", "bf16".
  std::string format() const;
  // What is computed as f32, and why, in one line; empty: nothing.
  std::string computed_as_f32() const;
};

// Throws LoadError as CheckpointWeights::matrices() does.
WeightSummary summarize_weights(const checkpoint::Checkpoint& checkpoint, const CheckpointWeights& weights);

}  // namespace millrace::model
