#include "model/adapters/kept_matrices.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "backend/source_rows.h"
#include "base/error.h"

namespace millrace::model {

backend::WeightSource f32_matrix(std::string name, std::int64_t rows, std::int64_t cols, std::vector<float> values) {
  backend::WeightSource source{
      .name = std::move(name), .format = quant::find_format("f32"), .rows = rows, .cols = cols, .read = {}};
  source.read = [kept = std::make_shared<const std::vector<float>>(std::move(values)), cols](
                    std::int64_t first, std::int64_t, std::span<std::byte> out) {
    std::memcpy(out.data(), kept->data() + first * cols, out.size());
  };
  return source;
}

void KeptMatrices::note(std::string_view text) {
  digest_.update(std::as_bytes(std::span(text)));
  digest_.update(std::as_bytes(std::span("\n", 1)));
}

void KeptMatrices::note(const std::string& name, std::span<const float> values) {
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
    throw_load_error(ErrorCode::kBadFile, name, "tensor '{}' has a value that is no finite number", name);
  }
  digest_.update(std::as_bytes(values));
}

backend::WeightSource KeptMatrices::keep(const backend::WeightSource& source, const quant::QuantFormat& format) {
  const std::size_t row_bytes = format.row_bytes(source.cols),
                    n = static_cast<std::size_t>(source.rows * source.experts);
  auto bytes = std::make_shared<std::vector<std::byte>>(n * row_bytes);
  std::vector<float> rounded(static_cast<std::size_t>(source.cols));
  for (std::size_t r = 0; r < n; ++r) {
    const std::vector<float> values = backend::source_row(source, static_cast<std::int64_t>(r));
    if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
      throw_load_error(ErrorCode::kBadFile, source.name, "tensor '{}' has a value that is no finite number",
                       source.name);
    }
    std::byte* to = bytes->data() + r * row_bytes;
    format.pack(values, to);
    format.unpack(to, rounded);
    error_.add(values, rounded);
  }
  digest_.update(*bytes);
  backend::WeightSource kept{
      .name = source.name, .format = &format, .rows = source.rows, .cols = source.cols, .read = {}};
  kept.experts = source.experts;
  kept.read = [bytes, row_bytes](std::int64_t first, std::int64_t, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes->data() + static_cast<std::size_t>(first) * row_bytes, out.size());
  };
  return kept;
}

}  // namespace millrace::model
