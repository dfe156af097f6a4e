#pragma once

#include <memory>

#include "model/weights/matrix_reader.h"

namespace millrace::model {

// AWQ (arXiv:2306.00978) as AutoAWQ saves it: w[o][i] = scales * (q - z) for groups of columns, 4 bits.
// More groups may be stored than there are, except by gemm:
//   gemm  qweight i32 [cols, rows / 8], qzeros i32 [groups, rows / 8], scales [groups, rows], words as awq_codes() says
//   gemv  qweight i32 [rows, cols / 8], qzeros i32 [rows, words], scales [rows, words * 8], in order; more words than
//         there are groups of eight
//   gemv_fast  qweight i16 [rows / 4, cols] as awq_fast_codes() says, scales, qzeros [groups, rows]: w = scales * q +
//   qzeros
struct AwqRules {
  enum class Layout : std::uint8_t { kGemm, kGemv, kGemvFast };
  Layout layout = Layout::kGemm;
  std::int64_t group_size = 0;  // columns; -1: one group; 0: the tensors say, of gemm
};
// The number of columns of a group that a configuration states. Throws LoadError (kUnsupported) unless it is -1, or
// from 1 to 2^30.
std::int64_t checked_group_size(const checkpoint::JsonFields& fields, std::int64_t size);
struct AwqTensors {
  // <module>.qweight, .qzeros and .scales. Throws LoadError naming one that is missing or of another type.
  static AwqTensors of_module(const StoredTensors& tensors, const std::string& module, const AwqRules& rules);
  const checkpoint::RawTensor *codes, *zeros, *scales;
};
// Throws LoadError naming a tensor whose shape does not fit the others.
OpenedMatrix open_awq_matrix(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules);
// Reads all matrices that have a .qweight.
std::unique_ptr<WeightReader> awq_reader(const AwqRules& rules, const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
