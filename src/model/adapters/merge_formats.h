#pragma once

#include "checkpoint/write_checkpoint.h"
#include "model/adapters/merged_checkpoint.h"
#include "model/model_spec.h"

namespace millrace::model {

// The formats that a copy of the base has if it is written in `type`. In a directory of safetensors, which f32, f16 and
// bf16 fit, all tensors get it; in a GGUF file the matrices do that are multiplied as any weight, and embedding and
// head get at least 8 bits. A row that is no whole number of blocks gets q8_0, or stays. Throws LoadError naming `type`
// if the container does not hold it, or nothing here writes it.
TensorFormats formats_of_type(const checkpoint::Checkpoint& base, const ModelSpec& spec,
                              const quant::QuantFormat& type);

// What the copy's configuration has to say of it.
checkpoint::CopyChanges changes_of_type(const checkpoint::Checkpoint& base, const quant::QuantFormat& type);
// Makes a copy say no more that its weights are quantized.
void leave_out_quantization(checkpoint::CopyChanges& changes);

}  // namespace millrace::model
