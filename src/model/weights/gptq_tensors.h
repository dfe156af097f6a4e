#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/weights/matrix_reader.h"
#include "model/weights/stored_tensors.h"

namespace millrace::model {

// What a GPTQ checkpoint's configuration states for all its matrices. The bits and the number of groups of each matrix
// follow from its shapes.
struct GptqRules {
  bool zeros_less_one = true;   // qzeros hold z - 1
  bool symmetric = false;       // every z is 2^(bits - 1)
  bool ordered = false;         // g_idx, which must exist, assigns columns to groups (desc_act)
  std::int64_t bits = 4;        // for matrices whose shapes allow several
  std::int64_t group_size = 0;  // columns of a group in most matrices; -1: one group
  bool strict = false;          // codes of other bits are an error
};

// The tensors of one GPTQ matrix: <module>.qweight i32 [cols * bits / 32, rows], .qzeros i32 [groups, rows * bits /
// 32], .scales [groups, rows] and, optionally, .g_idx i32 [cols]. Codes of 2, 3, 4 or 8 bits form one stream of bits
// down each column of qweight, and along each row of qzeros, from the lowest bit of a word on. The checkpoint must
// outlive it.
struct GptqTensors {
  // Throws LoadError naming a tensor that is missing or has another shape.
  GptqTensors(const StoredTensors& tensors, const std::string& module, const GptqRules& rules);

  StoredTensors stored;
  std::string module;
  std::int64_t rows = 0, cols = 0, groups = 0;
  int bits = 0;
  const checkpoint::RawTensor *codes = nullptr, *zeros = nullptr, *scales = nullptr;
  const checkpoint::RawTensor* group_of = nullptr;  // of each column; may be null
};

struct GptqZeroPoints {
  std::vector<std::uint8_t> values;  // [rows][groups]; empty if all are 2^(bits - 1)
  bool contradict = false;           // the tensor holds z although the rules say z - 1; the values are taken as z
};
// Reads the zero points from qzeros.
GptqZeroPoints read_zero_points(const GptqTensors& tensors, const GptqRules& rules);

// The group of each column, from g_idx.
std::vector<std::uint32_t> read_groups(const GptqTensors& tensors, const GptqRules& rules);

// The matrix in a format of groups, with exactly the values of the file; columns are ordered by group. Reads qzeros and
// g_idx, which its format depends on. `contradict` is set as in GptqZeroPoints.
OpenedMatrix open_gptq_matrix(const GptqTensors& tensors, const GptqRules& rules, bool& contradict);

// Reads all matrices that have a .qweight.
std::unique_ptr<WeightReader> gptq_reader(const GptqRules& rules, const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
