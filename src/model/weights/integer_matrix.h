#pragma once

#include <vector>

#include "model/weights/group_weight.h"
#include "model/weights/matrix_reader.h"

namespace millrace::model {

// A matrix of integer codes stored row by row, with a scale, and perhaps a zero point or minimum, for each group of
// consecutive columns: scales [rows, groups], or one for each row, or one.
struct IntegerTensors {
  std::int64_t rows = 0, cols = 0;
  const checkpoint::RawTensor *codes = nullptr, *scales = nullptr;
  CodeOrder order;
  const checkpoint::RawTensor* minima = nullptr;       // like scales
  const checkpoint::RawTensor* zero_points = nullptr;  // I8 [rows, groups], signed: 2^(bits - 1) less than the code
  bool packed_zeros = false;                         // I32: streams of codes down the rows, [rows * bits / 32, groups]
  const checkpoint::RawTensor* group_of = nullptr;   // I32 [cols]: the group of each column
  float scale_factor = 1.0f;                         // of F32 scales
  bool int8_activations = false;                     // GroupMatrix's
  std::vector<const checkpoint::RawTensor*> others;  // belong to the module and say nothing of the weight
};

// Throws LoadError naming a tensor whose shape does not fit the others, or a group that does not exist.
OpenedMatrix open_integers(const StoredTensors& tensors, const IntegerTensors& stored);

}  // namespace millrace::model
