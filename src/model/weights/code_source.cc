#include "model/weights/code_source.h"

#include <cstring>

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::int64_t kWordBits = 32, kAwqLanes = 8, kPlanes = 4;

class RowCodes final : public CodeSource {
 public:
  RowCodes(const StoredTensors& tensors, const RawTensor& tensor, const Shape& matrix, const CodeOrder& order)
      : tensors_(tensors),
        tensor_(tensor),
        row_bytes_(tensor.bytes / static_cast<std::uint64_t>(matrix[0])),
        cols_(matrix[1]),
        order_(order) {}
  void read(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    std::vector<std::byte> raw = tensors_.bytes(tensor_, range(first, count));
    raw.resize(raw.size() + sizeof(std::uint64_t));  // read_stream() looks ahead
    for (std::int64_t r = 0; r < count; ++r) {
      read_row(reinterpret_cast<const std::uint8_t*>(raw.data()) + static_cast<std::size_t>(r) * row_bytes_,
               out + r * cols_);
    }
  }
  TensorRange range(std::int64_t first, std::int64_t count) const override {
    return {&tensor_, static_cast<std::uint64_t>(first) * row_bytes_, static_cast<std::uint64_t>(count) * row_bytes_};
  }

 private:
  void read_row(const std::uint8_t* row, std::uint8_t* out) const noexcept {
    if (order_.bits == 8) {
      for (std::int64_t c = 0; c < cols_; ++c) out[c] = row[c] ^ order_.flipped;
    } else if (order_.bits == 4) {
      const int first = order_.high_nibble_first ? 4 : 0;
      for (std::int64_t c = 0; c + 1 < cols_; c += 2) {
        out[c] = static_cast<std::uint8_t>((row[c / 2] >> first & 15) ^ order_.flipped);
        out[c + 1] = static_cast<std::uint8_t>((row[c / 2] >> (4 - first) & 15) ^ order_.flipped);
      }
      const std::int64_t last = cols_ - 1;
      if (last % 2 == 0) out[last] = static_cast<std::uint8_t>((row[last / 2] >> first & 15) ^ order_.flipped);
    } else {
      read_stream(row, out);
    }
  }
  void read_stream(const std::uint8_t* row, std::uint8_t* out) const noexcept {
    const std::int64_t of_word = kWordBits / order_.bits;
    for (std::int64_t c = 0; c < cols_; ++c) {
      const std::int64_t bit =
          order_.whole_words ? c / of_word * kWordBits + c % of_word * order_.bits : c * order_.bits;
      std::uint16_t two;
      std::memcpy(&two, row + bit / 8, sizeof two);
      out[c] = static_cast<std::uint8_t>(two >> (bit % 8) & ((1u << order_.bits) - 1u));
    }
  }

  StoredTensors tensors_;
  const RawTensor& tensor_;
  std::size_t row_bytes_;
  std::int64_t cols_;
  CodeOrder order_;
};

// Rows lie across the tensor, so that all of it is read at the first call.
class WholeTensor : public CodeSource {
 public:
  WholeTensor(const StoredTensors& tensors, const RawTensor& tensor) : tensors_(tensors), tensor_(tensor) {}

 protected:
  const std::uint32_t* words() const {
    std::call_once(loaded_, [&] {
      std::vector<std::uint32_t> words(tensor_.bytes / 4);
      const std::vector<std::byte> raw = tensors_.bytes(tensor_);
      std::memcpy(words.data(), raw.data(), raw.size());
      words_ = std::move(words);
    });
    return words_.data();
  }
  const RawTensor& tensor() const noexcept { return tensor_; }

 private:
  StoredTensors tensors_;
  const RawTensor& tensor_;
  mutable std::once_flag loaded_;
  mutable std::vector<std::uint32_t> words_;
};

class ColumnCodes final : public WholeTensor {
 public:
  ColumnCodes(const StoredTensors& tensors, const RawTensor& tensor, std::int64_t cols, int bits)
      : WholeTensor(tensors, tensor), cols_(cols), bits_(bits) {}
  void read(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::int64_t rows = tensor().shape[1];
    const std::uint32_t mask = (1u << bits_) - 1u, *all = words();
    for (std::int64_t c = 0; c < cols_; ++c) {
      const std::int64_t bit = c * bits_;
      const int shift = static_cast<int>(bit % kWordBits);
      const std::uint32_t* low = all + bit / kWordBits * rows + first;
      const bool crosses = shift + bits_ > kWordBits;
      for (std::int64_t r = 0; r < count; ++r) {
        std::uint32_t code = low[r] >> shift;
        if (crosses) code |= low[r + rows] << (kWordBits - shift);
        out[r * cols_ + c] = static_cast<std::uint8_t>(code & mask);
      }
    }
  }
  TensorRange range(std::int64_t first, std::int64_t count) const override {
    return range_of_columns(tensor(), first, count);
  }

 private:
  std::int64_t cols_;
  int bits_;
};

class AwqCodes final : public WholeTensor {
 public:
  using WholeTensor::WholeTensor;
  void read(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::int64_t cols = tensor().shape[0], width = tensor().shape[1];
    const std::uint32_t* all = words();
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t row = first + r;
      const std::uint32_t* column = all + row / kAwqLanes;
      const int shift = awq_shift(row % kAwqLanes);
      for (std::int64_t c = 0; c < cols; ++c)
        out[r * cols + c] = static_cast<std::uint8_t>(column[c * width] >> shift & 15);
    }
  }
  TensorRange range(std::int64_t first, std::int64_t count) const override {
    const std::int64_t begin = first / kAwqLanes, end = (first + count + kAwqLanes - 1) / kAwqLanes;
    return range_of_columns(tensor(), begin, end - begin);
  }
};

class AwqFastCodes final : public CodeSource {
 public:
  AwqFastCodes(const StoredTensors& tensors, const RawTensor& tensor) : tensors_(tensors), tensor_(tensor) {}
  void read(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::int64_t cols = tensor_.shape[1], begin = first / kTileRows, end = tiles_to(first + count);
    const std::vector<std::byte> raw = tensors_.bytes(tensor_, range_of_rows(tensor_, begin, end - begin));
    for (std::int64_t r = first; r < first + count; ++r) {
      const std::int64_t line = (r / kTileRows - begin) * cols * 2;
      for (std::int64_t c = 0; c < cols; ++c) {
        const std::int64_t k = c % 32, place = k % 8 / 2 * 8 + k % 2 * 4 + k / 8;
        const std::int64_t half = r % kTileRows * kTileCols + c % kTileCols / 32 * 32 + place;
        const auto byte = std::to_integer<std::uint8_t>(
            raw[static_cast<std::size_t>(line + c / kTileCols * kTileCols * 2 + half / 2)]);
        *out++ = half % 2 == 0 ? byte & 15 : byte >> 4;
      }
    }
  }
  TensorRange range(std::int64_t first, std::int64_t count) const override {
    return range_of_rows(tensor_, first / kTileRows, tiles_to(first + count) - first / kTileRows);
  }

 private:
  static constexpr std::int64_t kTileRows = 4, kTileCols = 64;
  static std::int64_t tiles_to(std::int64_t row) noexcept { return (row + kTileRows - 1) / kTileRows; }
  StoredTensors tensors_;
  const RawTensor& tensor_;
};

class PlaneCodes final : public CodeSource {
 public:
  PlaneCodes(const StoredTensors& tensors, const RawTensor& tensor) : tensors_(tensors), tensor_(tensor) {}
  void read(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::int64_t lines = tensor_.shape[0], cols = tensor_.shape[1];
    for (std::int64_t r = first; r < first + count; ++r, out += cols) {
      const std::vector<std::byte> line = tensors_.bytes(tensor_, range_of_rows(tensor_, r % lines, 1));
      const std::int64_t shift = 2 * (r / lines);
      for (std::int64_t c = 0; c < cols; ++c) {
        out[c] = std::to_integer<std::uint8_t>(line[static_cast<std::size_t>(c)]) >> shift & 3;
        if (out[c] == 3)
          tensors_.fail(tensor_.name, fmt::format("the code of row {}, column {} is 3; at most 2", r, c));
      }
    }
  }
  // Of rows in one plane; else the whole tensor.
  TensorRange range(std::int64_t first, std::int64_t count) const override {
    const std::int64_t lines = tensor_.shape[0];
    if (first / lines == (first + count - 1) / lines) return range_of_rows(tensor_, first % lines, count);
    return range_of_rows(tensor_, 0, lines);
  }

 private:
  StoredTensors tensors_;
  const RawTensor& tensor_;
};

}  // namespace

std::unique_ptr<CodeSource> codes_by_row(const StoredTensors& tensors, const RawTensor& tensor, const Shape& matrix,
                                         const CodeOrder& order) {
  return std::make_unique<RowCodes>(tensors, tensor, matrix, order);
}
std::unique_ptr<CodeSource> codes_by_column(const StoredTensors& tensors, const RawTensor& tensor, std::int64_t cols,
                                            int bits) {
  return std::make_unique<ColumnCodes>(tensors, tensor, cols, bits);
}
std::unique_ptr<CodeSource> awq_codes(const StoredTensors& tensors, const RawTensor& tensor) {
  return std::make_unique<AwqCodes>(tensors, tensor);
}
std::unique_ptr<CodeSource> awq_fast_codes(const StoredTensors& tensors, const RawTensor& tensor) {
  return std::make_unique<AwqFastCodes>(tensors, tensor);
}
std::unique_ptr<CodeSource> codes_in_planes(const StoredTensors& tensors, const RawTensor& tensor) {
  return std::make_unique<PlaneCodes>(tensors, tensor);
}

std::uint32_t stream_field(const std::uint32_t* words, std::int64_t index, int bits) noexcept {
  const std::int64_t at = index * bits / kWordBits, shift = index * bits % kWordBits;
  std::uint64_t two = words[at];
  if (shift + bits > kWordBits) two |= std::uint64_t{words[at + 1]} << kWordBits;
  return static_cast<std::uint32_t>(two >> shift) & ((1u << bits) - 1u);
}

}  // namespace millrace::model
