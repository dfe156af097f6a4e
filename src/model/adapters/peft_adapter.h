#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::model {

// An adapter's matrices for one module: y += B (A x).
struct PeftModule {
  std::string name;                           // "model.layers.0.self_attn.q_proj"
  std::int64_t rows = 0, cols = 0, rank = 0;  // of W; at least 1
  std::vector<float> a, b;                    // [rank, cols], [rows, rank]
};

struct PeftFacts {
  std::string base;           // base_model_name_or_path; may be empty
  std::int64_t rank = 0;      // `r`: that of most modules; lora_alpha is each module's rank, so that scales are 1
  bool inputs_first = false;  // fan_in_fan_out: the base has its linear weights as [in, out]
};

// The files of an adapter as PEFT writes them, with values in f32.
struct PeftFiles {
  std::string config;   // adapter_config.json
  std::string weights;  // adapter_model.safetensors
};
PeftFiles peft_files(const PeftFacts& facts, std::span<const PeftModule> modules);

// Writes both into a new directory, which appears when it is complete. kInvalidArgument naming `out` if there is
// something of that name.
Result<void> write_peft_adapter(const std::string& directory, const PeftFiles& files);

}  // namespace millrace::model
