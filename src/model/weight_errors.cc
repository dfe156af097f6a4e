#include "model/weight_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "model/matrix_places.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kRowsAtOnce = 64;

// Rows [first, first + count), with columns in the order of the matrix.
std::vector<float> values_of(const backend::WeightSource& source, std::int64_t first, std::int64_t count) {
  std::vector<std::byte> stored(static_cast<std::size_t>(count) * source.format->row_bytes(source.cols));
  std::vector<float> values(static_cast<std::size_t>(count * source.cols));
  source.read(first, count, stored);
  source.format->unpack(stored.data(), values);
  if (source.columns.empty()) return values;
  std::vector<float> ordered(values.size());
  const auto cols = static_cast<std::size_t>(source.cols);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ordered[i / cols * cols + static_cast<std::size_t>(source.columns[i % cols])] = values[i];
  }
  return ordered;
}

float factor_of(const backend::WeightSource& source, std::int64_t row) {
  if (source.factors.empty()) return 1.0f;
  return source.factors[source.factors.size() == 1 ? 0 : static_cast<std::size_t>(row / source.rows)];
}

WeightError compare(const backend::WeightSource& own, const backend::WeightSource& reference) {
  if (own.rows != reference.rows || own.cols != reference.cols || own.experts != reference.experts) {
    throw_load_error(ErrorCode::kInvalidArgument, own.name, "tensor '{}' is [{}, {}], of the reference [{}, {}]",
                     own.name, own.rows, own.cols, reference.rows, reference.cols);
  }
  WeightError error{.name = own.name, .format = own.format, .values = own.rows * own.experts * own.cols};
  double difference = 0.0, length = 0.0;
  for (std::int64_t first = 0, count = 0; first < own.rows * own.experts; first += count) {
    count = std::min(kRowsAtOnce, own.rows - first % own.rows);  // not beyond an expert's rows
    const std::vector<float> a = values_of(own, first, count), b = values_of(reference, first, count);
    const double of_a = factor_of(own, first), of_b = factor_of(reference, first);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double expected = of_b * b[i], apart = std::fabs(of_a * a[i] - expected);
      difference += apart * apart;
      length += expected * expected;
      error.largest = std::max(error.largest, apart);
    }
  }
  error.relative = length > 0.0 ? std::sqrt(difference / length) : difference > 0.0 ? INFINITY : 0.0;
  return error;
}

}  // namespace

std::vector<WeightError> weight_errors(const ModelWeights& model, const ModelWeights& reference) {
  WeightLoader own(model.checkpoint, model.spec, model.quantization);
  WeightLoader other(reference.checkpoint, reference.spec, reference.quantization);
  std::map<std::string, MatrixPlace> known;
  for (MatrixPlace& place : matrix_places(reference.spec, other)) known.emplace(place.place, std::move(place));
  std::vector<WeightError> errors;
  for (const MatrixPlace& matrix : matrix_places(model.spec, own)) {
    const auto found = known.find(matrix.place);
    if (found == known.end()) {
      throw_load_error(ErrorCode::kInvalidArgument, "reference", "{}: the reference has no weight {}",
                       reference.checkpoint.path, matrix.place);
    }
    errors.push_back(compare(matrix.open(own), found->second.open(other)));
  }
  return errors;
}

}  // namespace millrace::model
