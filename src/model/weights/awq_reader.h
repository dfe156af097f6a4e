#pragma once

#include <memory>

#include "model/weights/matrix_reader.h"

namespace millrace::model {

// AWQ (arXiv:2306.00978) as AutoAWQ saves it: w[o][i] = scales * (q - z) for groups of columns, 4 bits.
//   gemm  qweight i32 [cols, rows / 8], qzeros i32 [groups, rows / 8], scales [groups, rows], words as awq_codes() says
//   gemv  qweight i32 [rows, cols / 8], qzeros i32 [rows, words], scales [rows, words * 8], in order; more words than
//         there are groups of eight
struct AwqRules {
  bool gemv = false;
  std::int64_t group_size = 128;  // columns; -1: one group. gemm: the tensors say
};
struct AwqTensors {
  const checkpoint::RawTensor *codes, *zeros, *scales;
};
// Throws LoadError naming a tensor whose shape does not fit the others.
OpenedMatrix open_awq_matrix(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules);
// Reads all matrices that have a .qweight.
std::unique_ptr<WeightReader> awq_reader(const AwqRules& rules, const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
