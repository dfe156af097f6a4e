#include "model/adapters/kept_matrices.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "backend/source_rows.h"
#include "base/error.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kValuesAtOnce = 8192;

void check_finite(const std::string& name, std::span<const float> values) {
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
    throw_load_error(ErrorCode::kBadFile, name, "tensor '{}' has a value that is no finite number", name);
  }
}

}  // namespace

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
  check_finite(name, values);
  digest_.update(std::as_bytes(values));
}

backend::WeightSource KeptMatrices::keep(const backend::WeightSource& source, const quant::QuantFormat& format) {
  const auto cols = static_cast<std::size_t>(source.cols);
  const std::size_t row_bytes = format.row_bytes(source.cols);
  auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(source.rows * source.experts) * row_bytes);
  const std::int64_t most = std::max<std::int64_t>(1, kValuesAtOnce / source.cols);
  std::vector<float> memory(2 * static_cast<std::size_t>(most) * cols);
  std::byte* to = bytes->data();
  for (std::int64_t first = 0, n = 0; first < source.rows * source.experts; first += n) {
    n = std::min(most, source.rows - first % source.rows);
    const auto count = static_cast<std::size_t>(n);
    const std::span<float> values = std::span(memory).first(count * cols);
    const std::span<float> rounded = std::span(memory).last(count * cols);
    backend::source_rows(source, first, values);
    check_finite(source.name, values);
    for (std::size_t r = 0; r < count; ++r, to += row_bytes) {
      format.pack(values.subspan(r * cols, cols), to);
      format.unpack(to, rounded.subspan(r * cols, cols));
    }
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
