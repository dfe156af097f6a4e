#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "backend/backend.h"

// For tests: random numbers, and their way into a device's memory and back.

namespace millrace::backend {

using Values = std::vector<float>;

inline Values random_values(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Values values(static_cast<std::size_t>(n));
  for (float& v : values) v = normal(random);
  return values;
}

// Matrices [experts, rows, cols] in a format. The values must outlive it.
inline WeightSource packed_source(const char* name, std::int64_t rows, std::int64_t cols, const Values& values,
                                  std::int64_t experts = 1) {
  const quant::QuantFormat* format = quant::find_format(name);
  WeightSource source{.name = "w", .format = format, .rows = rows, .cols = cols, .read = {}, .experts = experts};
  source.read = [&values, format, cols](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    for (std::int64_t r = 0; r < count; ++r) {
      const auto row =
          std::span(values).subspan(static_cast<std::size_t>((first + r) * cols), static_cast<std::size_t>(cols));
      format->pack(row, out.data() + static_cast<std::size_t>(r) * format->row_bytes(cols));
    }
  };
  return source;
}

inline DeviceBuffer matrix(Backend& backend, const Values& values) {
  DeviceBuffer memory = backend.allocate(values.size() * sizeof(float)).or_throw();
  backend.upload(std::as_bytes(std::span(values)), memory.address());
  return memory;
}

// Waits for the operations called so far.
inline Values values_of(Backend& backend, const DeviceView& view) {
  backend.synchronize();
  const HostView seen = backend.host_view(view);
  Values values;
  for (std::int64_t t = 0; t < view.rows(); ++t) {
    values.insert(values.end(), seen.view().row(t), seen.view().row(t) + view.cols());
  }
  return values;
}

// Rows [first, first + n) of f32 weights [all, k], which must outlive it.
inline WeightSource source_of(const Values& weights, std::int64_t k, std::int64_t first, std::int64_t n) {
  WeightSource source{.name = "w", .format = quant::find_format("f32"), .rows = n, .cols = k, .read = {}};
  source.read = [&weights, k, first](std::int64_t row, std::int64_t count, std::span<std::byte> out) {
    const auto from = std::as_bytes(
        std::span(weights).subspan(static_cast<std::size_t>((first + row) * k), static_cast<std::size_t>(count * k)));
    std::copy(from.begin(), from.end(), out.begin());
  };
  return source;
}

inline std::unique_ptr<Linear> weight_of(Backend& backend, const Values& weights, std::int64_t k, std::int64_t first,
                                         std::int64_t n) {
  return backend.make_linear({source_of(weights, k, first, n)}, MatmulPrecision::kF32);
}

}  // namespace millrace::backend
