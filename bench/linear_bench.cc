// Products y = x W^T on the CPU backend: bytes of weights per second (the limit at few rows) and operations per second
// (the limit at many), to be read beside `millrace doctor`.

#include <benchmark/benchmark.h>

#include <memory>
#include <random>

#include "backend/backend.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kOut = 8192,
                       kIn = 2048;  // gate and up of a 1B model; larger than L3 together with what follows it

Backend& cpu() {
  static const std::unique_ptr<Backend> backend = make_cpu_backend({}).or_throw();
  return *backend;
}

std::unique_ptr<Linear> random_weight(const quant::QuantFormat& format) {
  WeightSource source{.name = "w", .format = &format, .rows = kOut, .cols = kIn, .read = {}};
  source.read = [&format](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    std::mt19937 random(static_cast<unsigned>(first));
    std::vector<float> row(kIn);
    for (std::int64_t r = 0; r < count; ++r) {
      for (float& v : row) v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) * 1e-3f;
      format.pack(row, out.data() + static_cast<std::size_t>(r) * format.row_bytes(kIn));
    }
  };
  return cpu().make_linear({source}, MatmulPrecision::kAuto);
}

// Copies enough that one pass over all of them does not fit the caches.
constexpr std::size_t kCopies = 6;

void linear(benchmark::State& state, const quant::QuantFormat* format) {
  std::vector<std::unique_ptr<Linear>> weights;
  for (std::size_t i = 0; i < kCopies; ++i) weights.push_back(random_weight(*format));
  const std::int64_t rows = state.range(0);
  std::vector<float> x(static_cast<std::size_t>(rows * kIn), 0.5f), y(static_cast<std::size_t>(rows * kOut));
  std::size_t next = 0;
  for (auto _ : state) {
    cpu().linear(*weights[next], {}, TensorView(x.data(), DType::kF32, {rows, kIn}),
                 TensorView(y.data(), DType::kF32, {rows, kOut}));
    cpu().synchronize();
    next = (next + 1) % kCopies;
    benchmark::ClobberMemory();
  }
  state.SetLabel(weights[0]->description());
  state.counters["weight_bytes"] =
      benchmark::Counter(static_cast<double>(weights[0]->packed_bytes()), benchmark::Counter::kIsIterationInvariantRate,
                         benchmark::Counter::kIs1000);
  state.counters["ops"] =
      benchmark::Counter(static_cast<double>(2 * rows * kOut * kIn), benchmark::Counter::kIsIterationInvariantRate,
                         benchmark::Counter::kIs1000);
}

const bool registered = [] {
  for (const quant::QuantFormat& format : quant::all_formats()) {
    benchmark::RegisterBenchmark(("linear/" + std::string(format.name)).c_str(), linear, &format)
        ->Arg(1)
        ->Arg(4)
        ->Arg(16)
        ->Arg(128)
        ->UseRealTime()
        ->MinTime(0.2)
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace millrace::backend
