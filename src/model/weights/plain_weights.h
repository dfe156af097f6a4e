#pragma once

#include <memory>

#include "model/weights/weight_reader.h"

namespace millrace::model {

// Matrices that are one tensor of a QuantFormat, as GGUF and plain safetensors have them.
std::unique_ptr<WeightReader> plain_weights(const checkpoint::Checkpoint& checkpoint);

// The tensor of that name and shape. Throws LoadError naming what is missing or expected.
const checkpoint::RawTensor& require_tensor(const checkpoint::Checkpoint& checkpoint, const std::string& name,
                                            const Shape& shape);

}  // namespace millrace::model
