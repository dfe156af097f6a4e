#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/rounding_error.h"

namespace millrace::model {

// What happens to a stored matrix [rows, cols], or to one of several that lie one behind the other: it is multiplied
// with factors, then left * right is added, then `dense`. What is empty is left out.
struct MatrixTerm {
  std::int64_t first_row = 0, rows = 0;            // of the matrix; 0 rows: all that is stored
  std::vector<float> row_factors, column_factors;  // [rows], [cols]
  std::int64_t rank = 0;
  std::vector<float> left = {};               // [rows, rank]
  std::vector<float> right = {};              // [rank, cols]
  std::vector<float> dense = {};              // [rows, cols], or [number of dense_rows, cols]
  std::vector<std::int32_t> dense_rows = {};  // ascending; empty: all

  // Rows are those that are stored.
  bool changes(std::int64_t row) const noexcept;
  // Changes the values of a row for which it does. `added` is memory for as many.
  void apply(std::int64_t row, std::span<float> values, std::span<float> added) const noexcept;

 private:
  // The row of `dense`; empty: there is none.
  std::span<const float> dense_row(std::int64_t row, std::size_t cols) const noexcept;
};

// The bytes of a matrix that is stored in one file, in another format, or changed by terms, one after the other. Const,
// all threads; a read computes the rows that it touches.
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
