#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"

namespace millrace::model {

// Whether a quantization_config says how weights are stored.
bool is_quantized(const checkpoint::Checkpoint& checkpoint);

// A checkpoint with the values of one whose weights are quantized in safetensors (AWQ, GPTQ, FP8 ...): each matrix is
// one tensor in f32, computed when it is read, and nothing says any more that it was quantized. One without a
// quantization_config stays as it is. Throws LoadError: errors of CheckpointWeights, and kUnsupported for a family that
// stores its linear weights as [inputs, outputs].
std::unique_ptr<checkpoint::Checkpoint> dequantized(std::unique_ptr<checkpoint::Checkpoint> checkpoint);

}  // namespace millrace::model
