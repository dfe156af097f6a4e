#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace millrace::model {

inline constexpr std::int64_t kGptqWordBits = 32;

// What a GPTQ checkpoint's configuration states for all its matrices. The bits and the number of groups of each matrix
// follow from its shapes.
struct GptqRules {
  bool zeros_less_one = true;   // qzeros hold z - 1
  bool symmetric = false;       // every z is 2^(bits - 1)
  bool ordered = false;         // g_idx, which must exist, assigns columns to groups (desc_act)
  std::int64_t bits = 4;        // for matrices whose shapes allow several
  std::int64_t group_size = 0;  // columns of a group in most matrices; -1: one group
};

// The tensors of one GPTQ matrix: <stem>.qweight i32 [cols * bits / 32, rows], .qzeros i32 [groups, rows * bits / 32],
// .scales [groups, rows] and, optionally, .g_idx i32 [cols]. Codes of 2, 3, 4 or 8 bits form one stream of bits down
// each column of qweight, and along each row of qzeros, from the lowest bit of a word on. The checkpoint must outlive
// it.
struct GptqTensors {
  // Throws LoadError naming a tensor that is missing or has another shape.
  GptqTensors(const checkpoint::Checkpoint& checkpoint, std::string stem, std::int64_t rows, std::int64_t cols);

  const checkpoint::Checkpoint& checkpoint;
  std::string stem;
  std::int64_t rows, cols, groups = 0;
  int bits = 0;
  const checkpoint::RawTensor *codes = nullptr, *zeros = nullptr, *scales = nullptr;
  const checkpoint::RawTensor* group_of = nullptr;  // of each column; may be null

  std::vector<const checkpoint::RawTensor*> all() const;
  std::vector<std::uint32_t> read_words(const checkpoint::RawTensor& tensor) const;
  [[noreturn]] void fail(const std::string& tensor, const std::string& what) const;

 private:
  const checkpoint::RawTensor& words(const std::string& name, const Shape& shape) const;
};

// The number of columns of a matrix, from its tensors alone.
std::int64_t gptq_columns(const checkpoint::Checkpoint& checkpoint, const std::string& stem, const GptqRules& rules);

struct GptqZeroPoints {
  std::vector<std::int8_t> beside_middle;  // [groups, rows], z - 2^(bits - 1); empty if all are 0
  bool contradict = false;                 // the tensor holds z although the rules say z - 1; the values are taken as z
};
// Reads the zero points from qzeros.
GptqZeroPoints read_zero_points(const GptqTensors& tensors, const GptqRules& rules);

// The group of each column, from g_idx.
std::vector<std::uint32_t> read_groups(const GptqTensors& tensors, const GptqRules& rules);

// The format that represents a matrix bit for bit: blocks of 128 values if all groups have a multiple of 128 columns,
// else of 32. Throws LoadError (kUnsupported) if some group has no multiple of 32.
const quant::QuantFormat* gptq_format(const GptqTensors& tensors, const GptqZeroPoints& zeros,
                                      const std::vector<std::uint32_t>& groups);

}  // namespace millrace::model
