#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/sha256.h"
#include "model/adapters/rounding_error.h"

namespace millrace::model {

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
  // Reads the matrix, or those of all experts, and rounds it. Throws LoadError naming a tensor with a value that is no
  // finite number.
  backend::WeightSource keep(const backend::WeightSource& source, const quant::QuantFormat& format);
  // The relative error of all matrices together.
  double error() const { return error_.relative(); }
  // To be called once.
  std::string key() { return hex(digest_.finish()); }

 private:
  Sha256 digest_;
  RoundingError error_;
};

}  // namespace millrace::model
