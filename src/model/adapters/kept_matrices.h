#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/sha256.h"
#include "model/adapters/rounding_error.h"
#include "model/product.h"

namespace millrace::model {

// Throws LoadError naming `name` if one of the values is no finite number.
void check_finite(const std::string& name, std::span<const float> values);

// A matrix of these values, row by row.
backend::WeightSource f32_matrix(std::string name, std::int64_t rows, std::int64_t cols, std::vector<float> values);

// The numbers of an adapter in the formats in which they are kept, with a digest of all and the error of keeping them
// so.
class KeptMatrices {
 public:
  // Text that is part of the digest.
  void note(std::string_view text);
  // Numbers that are part of the digest. Throws LoadError naming `name` if one is not finite.
  void note(const std::string& name, std::span<const float> values);
  // The same of all rows of a matrix, as f32.
  void note(const backend::WeightSource& source);
  // Reads the matrix, or those of all experts, and rounds it. Throws LoadError naming a tensor with a value that is no
  // finite number.
  backend::WeightSource keep(const backend::WeightSource& source, const quant::QuantFormat& format) {
    return keep(source, format, {0, source.rows});
  }
  // The same where only `own` of its rows, or of each expert's, are kept: digest and error are of all.
  backend::WeightSource keep(const backend::WeightSource& source, const quant::QuantFormat& format, RowRange own);
  // The same for rows that follow from the base's, and so are there for `own` ones alone: they are no part of the
  // digest, which note() gets what they are made of.
  backend::WeightSource keep_made(const backend::WeightSource& source, const quant::QuantFormat& format);
  // The relative error of all matrices together, of made ones as far as they are here.
  double error() const { return error_.relative(); }
  // To be called once.
  std::string key() { return hex(digest_.finish()); }

 private:
  backend::WeightSource keep(const backend::WeightSource& source, const quant::QuantFormat& format, RowRange own,
                             bool noted);

  Sha256 digest_;
  RoundingError error_;
};

}  // namespace millrace::model
