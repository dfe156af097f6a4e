#include "model/weights/matrix_reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace millrace::model {
namespace {

constexpr std::string_view kMatrixEnding = ".weight";

}  // namespace

bool MatrixReader::has(const std::string& name) const {
  const std::string module = stem_of(name, kMatrixEnding);
  return !module.empty() && has_module(module);
}

std::unique_ptr<StoredWeight> MatrixReader::open(const std::string& name, const MatrixShape& shape) const {
  OpenedMatrix opened = open_checked(stem_of(name, kMatrixEnding));
  const std::int64_t rows = std::max<std::int64_t>(1, shape.experts) * shape.rows;
  if (opened.rows != rows || opened.cols != shape.cols) {
    tensors_.fail(opened.weight->tensors.front()->name, fmt::format("shape {}: a matrix [{}, {}]; expected [{}, {}]",
                                                                    opened.weight->tensors.front()->shape.to_string(),
                                                                    opened.rows, opened.cols, rows, shape.cols));
  }
  return std::move(opened.weight);
}

// A matrix cannot be stored twice, quantized and plain.
OpenedMatrix MatrixReader::open_checked(const std::string& module) const {
  OpenedMatrix opened = open_module(module);
  const std::vector<const checkpoint::RawTensor*>& parts = opened.weight->tensors;
  const std::string name = module + std::string(kMatrixEnding);
  const bool its_own = std::ranges::any_of(parts, [&](const auto* part) { return part->name == name; });
  if (!its_own && tensors_.find(name) != nullptr) {
    tensors_.fail(name, fmt::format("unexpected beside '{}', which stores the same matrix", parts.front()->name));
  }
  return opened;
}

std::vector<MatrixInfo> MatrixReader::matrices() const {
  std::vector<MatrixInfo> all;
  for (const std::string& module : modules()) {
    const OpenedMatrix opened = open_checked(module);
    all.push_back({module + std::string(kMatrixEnding), opened.weight->format, opened.rows, opened.cols,
                   opened.weight->tensors, opened.weight->coding});
  }
  return all;
}

}  // namespace millrace::model
