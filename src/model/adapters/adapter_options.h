#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace millrace::model {

// How adapters are kept in memory.
enum class AdapterType {
  kAuto,  // kF32 where the model is multiplied in f32, else kBf16
  kF32,   // as f32, unless the file has bf16
  kBf16,
  // A with an f16 scale for each 32 values of a row (q8_0), B with a bf16 scale for each 16 (int8_16); matrices with
  // rows of other lengths as bf16.
  kInt8,
};

// PEFT's layer_replication: the layers of a base that a model of its layers runs, as ranges [first, end) of their
// numbers. Empty: each once.
using LayerReplication = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct AdapterOptions {
  AdapterType type = AdapterType::kAuto;
  std::int64_t max_rank = 512;
  LayerReplication layers = {};  // which layers the base has several times; the adapter must be made for these
};

}  // namespace millrace::model
