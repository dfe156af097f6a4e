#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/load_quantization.h"
#include "model/model_spec.h"

namespace millrace::model {

// A model's files, what they mean, and what loading makes of its weights. The files must outlive it.
struct ModelWeights {
  const checkpoint::Checkpoint& checkpoint;
  const ModelSpec& spec;
  LoadQuantization quantization = {};
};

// How far a matrix is from the same one of a reference.
struct WeightError {
  std::string name;  // in the model's files
  const quant::QuantFormat* format = nullptr;
  std::int64_t values = 0;
  double relative = 0.0;  // sqrt(sum of squared differences / sum of the reference's squares)
  double largest = 0.0;   // difference of a value
};

// The matrices of both models' blocks, embedding and head, layer by layer, whatever files they lie in and however these
// cut or turn them. Reads all weights of both once, on the calling thread. Throws LoadError naming a weight whose shape
// differs, or which the reference does not have.
std::vector<WeightError> weight_errors(const ModelWeights& model, const ModelWeights& reference);

}  // namespace millrace::model
