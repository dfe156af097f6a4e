#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/rounding_error.h"

namespace millrace::model {

// Left * right, which is added to a stored matrix [rows, cols].
struct MatrixTerm {
  std::int64_t rank = 0;
  std::vector<float> left;   // [rows, rank]
  std::vector<float> right;  // [rank, cols]
};

// The bytes of a matrix that is stored in one file, in another format, or with terms added. Const, all threads; a read
// computes the rows that it touches.
class ChangedTensor final : public RandomAccessFile {
 public:
  // `file`, which stores it, must outlive this.
  ChangedTensor(const RandomAccessFile& file, const checkpoint::RawTensor& tensor, const quant::QuantFormat& format,
                std::vector<MatrixTerm> terms, std::shared_ptr<RoundingError> error);

  std::uint64_t size() const noexcept override { return static_cast<std::uint64_t>(rows_) * row_bytes_; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  const std::string& path() const noexcept override { return file_.path(); }
  std::int64_t modified() const noexcept override { return file_.modified(); }

 private:
  struct RowSpace;
  bool is_changed(std::int64_t row) const noexcept;
  // Writes one whole row.
  Result<void> read_row(std::int64_t row, RowSpace& space, std::byte* out) const;

  const RandomAccessFile& file_;
  checkpoint::RawTensor stored_;
  const quant::QuantFormat& format_;
  std::int64_t rows_, cols_;
  std::size_t stored_row_bytes_, row_bytes_;
  std::vector<MatrixTerm> terms_;
  std::shared_ptr<RoundingError> error_;
};

}  // namespace millrace::model
