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

// Rows of a matrix that are read at once.
std::int64_t rows_at_once(const backend::WeightSource& source) {
  return std::max<std::int64_t>(1, kValuesAtOnce / source.cols);
}

}  // namespace

void check_finite(const std::string& name, std::span<const float> values) {
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
    throw_load_error(ErrorCode::kBadFile, name, "tensor '{}' has a value that is no finite number", name);
  }
}

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

void KeptMatrices::note(const backend::WeightSource& source) {
  const std::int64_t most = rows_at_once(source);
  std::vector<float> values;
  for (std::int64_t first = 0; first < source.rows; first += most) {
    values.resize(static_cast<std::size_t>(std::min(most, source.rows - first) * source.cols));
    backend::source_rows(source, first, values);
    note(source.name, values);
  }
}

backend::WeightSource KeptMatrices::keep(const backend::WeightSource& source, const quant::QuantFormat& format,
                                         RowRange own) {
  return keep(source, format, own, true);
}

backend::WeightSource KeptMatrices::keep_made(const backend::WeightSource& source, const quant::QuantFormat& format) {
  return keep(source, format, {0, source.rows}, false);
}

backend::WeightSource KeptMatrices::keep(const backend::WeightSource& source, const quant::QuantFormat& format,
                                         RowRange own, bool noted) {
  const auto cols = static_cast<std::size_t>(source.cols);
  const std::size_t row_bytes = format.row_bytes(source.cols);
  auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(own.size() * source.experts) * row_bytes);
  const std::int64_t most = rows_at_once(source);
  std::vector<float> memory(2 * static_cast<std::size_t>(most) * cols);
  std::vector<std::byte> packed(static_cast<std::size_t>(most) * row_bytes);
  std::byte* to = bytes->data();
  for (std::int64_t first = 0, n = 0; first < source.rows * source.experts; first += n) {
    const std::int64_t row = first % source.rows;  // of its expert
    n = std::min(most, source.rows - row);
    const auto count = static_cast<std::size_t>(n);
    const std::span<float> values = std::span(memory).first(count * cols);
    const std::span<float> rounded = std::span(memory).last(count * cols);
    backend::source_rows(source, first, values);
    check_finite(source.name, values);
    for (std::size_t r = 0; r < count; ++r) {
      format.pack(values.subspan(r * cols, cols), packed.data() + r * row_bytes);
      format.unpack(packed.data() + r * row_bytes, rounded.subspan(r * cols, cols));
    }
    error_.add(values, rounded);
    if (noted) digest_.update(std::span(packed).first(count * row_bytes));
    const std::int64_t begin = std::clamp(own.first, row, row + n), end = std::clamp(own.last, begin, row + n);
    const std::size_t kept_bytes = static_cast<std::size_t>(end - begin) * row_bytes;
    std::copy_n(packed.data() + static_cast<std::size_t>(begin - row) * row_bytes, kept_bytes, to);
    to += kept_bytes;
  }
  backend::WeightSource kept{
      .name = source.name, .format = &format, .rows = own.size(), .cols = source.cols, .read = {}};
  kept.experts = source.experts;
  kept.read = [bytes, row_bytes](std::int64_t first, std::int64_t, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes->data() + static_cast<std::size_t>(first) * row_bytes, out.size());
  };
  return kept;
}

}  // namespace millrace::model
