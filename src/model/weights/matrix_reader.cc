#include "model/weights/matrix_reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace millrace::model {
namespace {

constexpr std::string_view kModuleWeight = ".weight";

}  // namespace

bool MatrixReader::has(const std::string& name) const {
  const std::string module = stem_of(name, kModuleWeight);
  return !module.empty() && has_module(module);
}

std::unique_ptr<StoredWeight> MatrixReader::open(const std::string& name, const MatrixShape& shape) const {
  OpenedMatrix opened = open_module(stem_of(name, kModuleWeight));
  const std::int64_t rows = std::max<std::int64_t>(1, shape.experts) * shape.rows;
  if (opened.rows != rows || opened.cols != shape.cols) {
    tensors_.fail(opened.weight->tensors.front()->name, fmt::format("shape {}: a matrix [{}, {}]; expected [{}, {}]",
                                                                    opened.weight->tensors.front()->shape.to_string(),
                                                                    opened.rows, opened.cols, rows, shape.cols));
  }
  return std::move(opened.weight);
}

std::vector<MatrixInfo> MatrixReader::matrices() const {
  std::vector<MatrixInfo> all;
  for (const std::string& module : modules()) {
    const OpenedMatrix opened = open_module(module);
    all.push_back(
        {module + std::string(kModuleWeight), opened.weight->format, opened.rows, opened.cols, opened.weight->tensors});
  }
  return all;
}

}  // namespace millrace::model
