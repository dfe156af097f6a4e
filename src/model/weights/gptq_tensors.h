#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace millrace::model {

inline constexpr std::int64_t kGptqWordBits = 32;

// What a GPTQ checkpoint's configuration says of all its matrices. Bits and the number of groups follow from the shapes
// of each.
struct GptqRules {
  bool zeros_less_one = true;   // qzeros hold z - 1
  bool symmetric = false;       // all z are 2^(bits - 1)
  bool ordered = false;         // columns are in groups by g_idx, which must be there (desc_act)
  std::int64_t bits = 4;        // of matrices whose shapes leave a choice
  std::int64_t group_size = 0;  // of most matrices; -1: one group
};

// The tensors of one GPTQ matrix: <stem>.qweight i32 [cols * bits / 32, rows], .qzeros i32 [groups, rows * bits / 32],
// .scales [groups, rows] and, or not, .g_idx i32 [cols]. Codes of 2, 3, 4 or 8 bits are one stream of bits down a
// column of qweight, and along a row of qzeros, from the lowest bit of a word on. Borrows the checkpoint.
struct GptqTensors {
  // Throws LoadError naming a tensor that is missing or of another shape.
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

// The columns of a matrix as its tensors alone tell them.
std::int64_t gptq_columns(const checkpoint::Checkpoint& checkpoint, const std::string& stem, const GptqRules& rules);

struct GptqZeroPoints {
  std::vector<std::int8_t> beside_middle;  // [groups, rows], z - 2^(bits - 1); empty where all are 0
  bool contradict = false;                 // they are z where the rules say z - 1, and were taken for what they are
};
// Reads qzeros.
GptqZeroPoints read_zero_points(const GptqTensors& tensors, const GptqRules& rules);

// The group of each column. Reads g_idx.
std::vector<std::uint32_t> read_groups(const GptqTensors& tensors, const GptqRules& rules);

// What a matrix is delivered as, bit for bit: blocks of 128 values where all groups have a multiple of 128 columns,
// else of 32. Throws LoadError (kUnsupported) where some have no multiple of 32.
const quant::QuantFormat* gptq_format(const GptqTensors& tensors, const GptqZeroPoints& zeros,
                                      const std::vector<std::uint32_t>& groups);

}  // namespace millrace::model
