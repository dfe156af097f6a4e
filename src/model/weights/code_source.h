#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "model/weights/stored_tensors.h"

// Where the codes of a quantized matrix [rows, cols] lie. Bits are counted from the least significant one.

namespace millrace::model {

class CodeSource {
 public:
  virtual ~CodeSource() = default;
  // The codes of rows [first, first + count): out[r * cols + c]. Thread-safe. Throws LoadError.
  virtual void read(std::int64_t first, std::int64_t count, std::uint8_t* out) const = 0;
  // The bytes that read() needs.
  virtual TensorRange range(std::int64_t first, std::int64_t count) const = 0;
};

// How codes lie side by side.
struct CodeOrder {
  int bits = 4;
  bool high_nibble_first = false;  // of 4 bits: the upper half of a byte is the first
  bool whole_words = false;        // a word of 32 bits holds 32 / bits codes, and the rest of its bits nothing
  std::uint8_t flipped = 0;        // bits of a code to be turned over: 128 for signed bytes, 8 for signed halves
};

// The codes of a row are one stream; all rows have an equal share of the tensor's bytes.
std::unique_ptr<CodeSource> codes_by_row(const StoredTensors& tensors, const checkpoint::RawTensor& tensor,
                                         const Shape& matrix, const CodeOrder& order);
// The codes of a column, those of all rows, are one stream down the words of a tensor i32 [cols * bits / 32, rows].
std::unique_ptr<CodeSource> codes_by_column(const StoredTensors& tensors, const checkpoint::RawTensor& tensor,
                                            std::int64_t cols, int bits);
// A tensor i32 [cols, rows / 8]: code i of a word is that of row 8 j + {0, 2, 4, 6, 1, 3, 5, 7}[i].
std::unique_ptr<CodeSource> awq_codes(const StoredTensors& tensors, const checkpoint::RawTensor& tensor);
// A tensor i16 [rows / 4, cols] of AWQ's gemv_fast: 4 rows and 64 columns are 256 halves of bytes; those of a row are
// two runs of 32, of which half 8 a + 4 c + b is column 8 b + 2 a + c.
std::unique_ptr<CodeSource> awq_fast_codes(const StoredTensors& tensors, const checkpoint::RawTensor& tensor);
// A tensor u8 [rows / 4, cols]: bits 2 i, 2 i + 1 are the code of row i * rows / 4 + j, 0 to 2.
std::unique_ptr<CodeSource> codes_in_planes(const StoredTensors& tensors, const checkpoint::RawTensor& tensor);

// A field of a stream of words.
std::uint32_t stream_field(const std::uint32_t* words, std::int64_t index, int bits) noexcept;
// The code of row `lane` in an AWQ word of eight rows.
constexpr int awq_shift(std::int64_t lane) noexcept { return static_cast<int>(lane % 2 * 4 + lane / 2) * 4; }

}  // namespace millrace::model
