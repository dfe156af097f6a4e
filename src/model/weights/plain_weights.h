#pragma once

#include <memory>

#include "model/weights/weight_reader.h"

namespace millrace::model {

// The reader of matrices that are one tensor of a QuantFormat, as in GGUF and plain safetensors.
std::unique_ptr<WeightReader> plain_weights(const checkpoint::Checkpoint& checkpoint);

// The tensor of that name and shape. Throws LoadError naming the tensor that is missing, or the expected shape.
const checkpoint::RawTensor& require_tensor(const checkpoint::Checkpoint& checkpoint, const std::string& name,
                                            const Shape& shape);

}  // namespace millrace::model
