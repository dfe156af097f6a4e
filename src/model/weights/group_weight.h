#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/weights/code_source.h"
#include "model/weights/stored_tensors.h"
#include "quant/group_format.h"

// Matrices of integer codes, or levels, with a scale and perhaps an offset for each group of columns.

namespace millrace::model {

// The scales and offsets of all groups: [rows][groups].
struct GroupNumbers {
  std::vector<std::uint32_t> scales, minima;  // bits of the spec's number type; minima with GroupOffset::kMinimum
  std::vector<std::uint8_t> zero_points;      // with kZeroPoint: the code that stands for 0
};

struct GroupMatrix {
  std::int64_t rows = 0, cols = 0, groups = 0;  // groups of a row
  // Rows and columns that share a scale in the file; 0: one row, and cols / groups columns. Only to be told.
  std::int64_t scale_rows = 0, scale_cols = 0;
  quant::GroupSpec spec;                     // `values`, of any size, divides every group
  int stored_bits = 0;                       // of a code in the file; 0: spec.bits
  std::vector<std::int32_t> order;           // StoredWeight::columns
  std::vector<std::int32_t> group_of_block;  // of `values` columns each, in that order; empty: groups of equal size
  std::unique_ptr<CodeSource> codes;
  // Called once, at the first read().
  std::function<GroupNumbers()> numbers;
  std::string scales_name;  // for errors
  std::uint8_t added = 0;   // to each code: 64 makes those of 7 bits codes of 8
  // Made to be multiplied with activations of 8 bits that have one scale for each token: the format int8_row, where the
  // weight fits it.
  bool int8_activations = false;
  // All tensors; the first one has the codes. Those of `by_row` are read row by row, as ranges() says, by
  // [rows, groups] or, with groups_first, by [groups, rows]; all others are read whole.
  std::vector<const checkpoint::RawTensor*> tensors, by_row;
  bool groups_first = false;
};

// Delivers the format of the spec or, where there is none, f32: the same values, which take more memory and time.
// Throws LoadError where a scale is 0 and a code of its group is not that of 0.
std::unique_ptr<StoredWeight> group_weight(const StoredTensors& tensors, GroupMatrix matrix);

// The block size for groups of so many columns: that of a format, or one that none has.
int block_of_groups(std::int64_t columns) noexcept;
// The number type of a tensor of scales, F16, BF16 or F32.
DType number_type(const checkpoint::RawTensor& tensor) noexcept;
// Its values as bits [rows][groups], from [rows, groups] or, with groups_first, [groups, rows]. Throws LoadError naming
// one that is NaN or infinite.
std::vector<std::uint32_t> number_bits(const StoredTensors& tensors, const checkpoint::RawTensor& tensor,
                                       std::int64_t rows, std::int64_t groups, bool groups_first);

// Sets `order` and `group_of_block` from the group of each column, so that those of a group lie together; spec.values
// is set already.
void order_by_group(GroupMatrix& matrix, const std::vector<std::int64_t>& groups);

}  // namespace millrace::model
