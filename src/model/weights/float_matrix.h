#pragma once

#include <cstdint>
#include <vector>

#include "model/weights/matrix_reader.h"
#include "model/weights/stored_tensors.h"

// Matrices of numbers of 8 or 4 bits (OCP 8-bit floating point and Microscaling Formats 1.0), and scales in a tensor of
// their own.

namespace millrace::model {

// Columns and rows that share a scale.
struct ScaleBlock {
  std::int64_t rows = 0, cols = 0;
};

struct Float8Tensors {
  const checkpoint::RawTensor *weight, *scale;
  // The rows and columns of a block, where the scale tensor has one scale for each: [blocks of rows, blocks of
  // columns], with dimensions of 1 anywhere; the last block of a row or column may be smaller. Not looked at if the
  // tensor has one element, or one a row.
  ScaleBlock block;
  std::vector<const checkpoint::RawTensor*> others;  // belong to the module and say nothing of the weight
};

// weight F8_E4M3 [rows, cols], or as many bytes in words, times scale F32, BF16, F16, or exponents (U8, F8_E8M0), one
// for the tensor, for each row, or for each block. Throws LoadError naming a scale that is NaN, infinite, or 0 beside
// other numbers.
OpenedMatrix open_float8(const StoredTensors& tensors, const Float8Tensors& stored);

// codes U8 or I8 [rows, cols / 2], or as many bytes in words, two e2m1 numbers a byte, the first one in its low half,
// times exponents U8 or F8_E8M0 [rows, cols / 32]. Delivers mxfp4.
OpenedMatrix open_mxfp4(const StoredTensors& tensors, const Float8Tensors& stored);

// The same codes with e4m3 scales F8_E4M3 or U8 [rows, cols / 16] that are not negative, and a factor of the whole
// matrix, which products are multiplied with at their end. Delivers nvfp4, or f32 unless cols is a multiple of 64.
OpenedMatrix open_nvfp4(const StoredTensors& tensors, const Float8Tensors& stored, float factor);

// Whether <module>.weight or .weight_packed has a scale beside it as these formats have, or is F8_E4M3 and needs one.
bool has_float_module(const StoredTensors& tensors, const std::string& module);
// Opens it: by the dtypes of the two tensors, F8_E4M3 with any scale as open_float8() says, U8 with exponents mxfp4,
// with F8_E4M3 nvfp4, whose factor is <module>.weight_scale_2, or 1 / <module>.weight_global_scale.
OpenedMatrix open_float_module(const StoredTensors& tensors, const std::string& module, const ScaleBlock& block);
// Reads all such modules.
std::unique_ptr<WeightReader> float_reader(const checkpoint::Checkpoint& checkpoint, const ScaleBlock& block);

// The tensors <module>.<name> that exist.
std::vector<const checkpoint::RawTensor*> tensors_of(const StoredTensors& tensors, const std::string& module,
                                                     std::initializer_list<std::string_view> names);

}  // namespace millrace::model
