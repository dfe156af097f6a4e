#include "bench/kernel_op.h"

#include <algorithm>
#include <cmath>

#include "base/counter_rng.h"
#include "base/readable_bytes.h"

namespace millrace::bench {

std::vector<float> random_values(std::int64_t n, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(n));
  // A sum of three even numbers is normal enough here.
  constexpr double kScale = 2.0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = -1.5;
    for (std::uint64_t part = 0; part < 3; ++part) {
      sum += rng::uniform(seed, static_cast<std::uint64_t>(i), part);
    }
    values[static_cast<std::size_t>(i)] = static_cast<float>(kScale * sum);
  }
  return values;
}

backend::DeviceBuffer random_matrix(backend::Backend& backend, std::int64_t rows, std::int64_t columns,
                                    std::uint64_t seed) {
  const std::vector<float> values = random_values(rows * columns, seed);
  backend::DeviceBuffer buffer = backend.allocate(values.size() * sizeof(float)).or_throw();
  backend.upload(std::as_bytes(std::span(values)), buffer.address());
  return buffer;
}

backend::DeviceView matrix_view(const backend::DeviceBuffer& buffer, std::int64_t rows, std::int64_t columns) {
  return buffer.view(rows, columns);
}

// Of tiny operands no more than this many are made; those may be found in a cache.
constexpr double kMaxCopies = 2048.0;

std::int64_t copies_of(const KernelContext& context, double bytes, std::string_view what) {
  const double copies = std::clamp(std::ceil(static_cast<double>(context.cycle_bytes) / bytes) + 1.0, 2.0, kMaxCopies);
  if (copies * bytes > static_cast<double>(context.memory_bytes)) {
    throw_load_error(ErrorCode::kResourceExhausted, std::string(what), "{}: {} copies of {} are needed and {} free",
                     what, copies, readable_bytes(bytes), readable_bytes(static_cast<double>(context.memory_bytes)));
  }
  return static_cast<std::int64_t>(copies);
}

}  // namespace millrace::bench
