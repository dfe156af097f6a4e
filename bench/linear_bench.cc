// The kernels of products y = x W^T, each format with every precision it has: share of the read bandwidth (the limit at
// few rows) and of the peak arithmetic (the limit at many), both measured seconds before in the same process. And
// packing. Names are linear/<format>/<precision>/<rows>/<threads>.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "backend/cpu/kernels.h"
#include "backend/cpu/probe.h"
#include "base/buffer.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kOut = 8192, kIn = 2048;  // gate and up of a 1B model
constexpr std::int64_t kPackedAtOnce = 4;        // panels of random weights, repeated
// A pass over this much finds nothing of the pass before in the last-level cache.
constexpr std::size_t kWeightBytes = std::size_t{160} << 20;
constexpr double kProbeSeconds = 0.1;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

const KernelSet& kernels() {
  static const KernelSet set = select_kernels(detect_isa());
  return set;
}

std::vector<std::byte> random_rows(const quant::QuantFormat& format, std::int64_t rows) {
  std::mt19937 random(7);
  std::vector<float> row(kIn);
  std::vector<std::byte> stored(format.row_bytes(kIn) * static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (float& v : row) v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) * 1e-3f;
    format.pack(row, stored.data() + static_cast<std::size_t>(r) * format.row_bytes(kIn));
  }
  return stored;
}

// Whole matrices of kOut rows, more than the caches hold.
struct Weights {
  const quant::QuantFormat& format;
  const LinearKernel& kernel;
  std::size_t panel_bytes, matrix_bytes, matrices;
  Buffer buffer;

  Weights(const quant::QuantFormat& stored_as, const LinearKernel& with)
      : format(stored_as),
        kernel(with),
        panel_bytes(kernel.panel_bytes(format, kIn)),
        matrix_bytes(panel_bytes * (kOut / kPanelRows)),
        matrices(kWeightBytes / matrix_bytes + 1),
        buffer(Buffer::allocate(matrices * matrix_bytes).or_throw()) {
    const std::vector<std::byte> rows = random_rows(format, kPackedAtOnce * kPanelRows);
    for (std::int64_t p = 0; p < kPackedAtOnce; ++p) {
      kernel.pack(format, rows.data() + static_cast<std::size_t>(p * kPanelRows) * format.row_bytes(kIn), kPanelRows,
                  kIn, buffer.data() + static_cast<std::size_t>(p) * panel_bytes);
    }
    const std::size_t packed = panel_bytes * kPackedAtOnce;
    for (std::size_t at = packed; at < buffer.size(); at += packed)
      std::memcpy(buffer.data() + at, buffer.data(), packed);
  }
};

struct Input {
  std::vector<float> f32;
  std::vector<std::uint16_t> bf16;
  std::vector<Int8Group> groups;
  Activations view;

  // `type`: what the kernel takes; rows of bf16 and f32 are there for all.
  Input(std::int64_t rows, ActivationType type)
      : f32(static_cast<std::size_t>(rows * kIn)), bf16(f32.size()), groups(f32.size() / kGroup) {
    std::mt19937 random(3);
    for (float& v : f32) v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) * 1e-3f;
    for (std::int64_t r = 0; r < rows; ++r) {
      kernels().to_bf16(f32.data() + r * kIn, kIn, bf16.data() + r * kIn);
    }
    const bool is_int8 = type != ActivationType::kF32 && type != ActivationType::kBf16;
    const ActivationType int8 = is_int8 ? type : ActivationType::kInt8;
    view.rows = view.stored_rows = rows;
    view.k = kIn;
    view.groups = groups.data();
    for (std::int64_t r = 0; r < rows; ++r) {
      kernels().quantize(f32.data() + r * kIn, kIn, int8, groups.data() + view.int8_at(r), view.int8_step(r));
    }
    view.f32 = f32.data();
    view.f32_stride = kIn;
    view.bf16 = bf16.data();
  }
};

double peak_gop_s(const MachineLimits& limits, ActivationType type) {
  switch (type) {
    case ActivationType::kF32: return limits.f32_gflop_s;
    case ActivationType::kBf16: return limits.bf16_gflop_s;
    case ActivationType::kInt8:
    case ActivationType::kInt8Block:
    case ActivationType::kInt8Row: return limits.int8_gop_s;
  }
  return 0.0;
}

// The last weights used: benchmarks of one format follow each other.
const Weights& weights_of(const quant::QuantFormat& format, const LinearKernel& kernel) {
  static std::unique_ptr<Weights> weights;
  if (weights == nullptr || &weights->format != &format || &weights->kernel != &kernel) {
    weights.reset();
    weights = std::make_unique<Weights>(format, kernel);
  }
  return *weights;
}

void linear(benchmark::State& state, const quant::QuantFormat* format, const LinearKernel* kernel) {
  const std::int64_t rows = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  const Weights& weights = weights_of(*format, *kernel);
  const MachineLimits limits = measure_limits(threads, detect_isa(), kProbeSeconds);
  WorkerTeam team(threads);
  const Input input(rows, kernel->activation);
  std::vector<float> out(static_cast<std::size_t>(rows * kOut));
  std::vector<double> seconds;
  std::size_t next = 0;
  for (auto _ : state) {
    const std::byte* matrix = weights.buffer.data() + next * weights.matrix_bytes;
    const Clock::time_point start = Clock::now();
    team.split(kOut / kPanelRows, 4, [&](std::int64_t begin, std::int64_t end) {
      LinearArgs args{};
      args.panels = matrix + static_cast<std::size_t>(begin) * weights.panel_bytes;
      args.n_panels = end - begin;
      args.panel_bytes = weights.panel_bytes;
      args.x = input.view;
      args.out = out.data() + begin * kPanelRows;
      args.out_stride = kOut;
      args.out_columns = (end - begin) * kPanelRows;
      args.format = format;
      kernel->run(args);
    });
    seconds.push_back(seconds_since(start));
    state.SetIterationTime(seconds.back());
    next = (next + 1) % weights.matrices;
  }
  // Medians, so that a busy neighbour does not count.
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const double operations = 2.0 * static_cast<double>(rows * kOut * kIn);
  state.counters["bits"] = 8.0 * static_cast<double>(weights.panel_bytes) / static_cast<double>(kPanelRows * kIn);
  state.counters["of_read%"] = 1e-7 * static_cast<double>(weights.matrix_bytes) / median / limits.read_gb_s;
  state.counters["of_peak%"] = 1e-7 * operations / median / peak_gop_s(limits, kernel->activation);
}

void pack(benchmark::State& state, const quant::QuantFormat* format, const LinearKernel* kernel) {
  const std::vector<std::byte> rows = random_rows(*format, kPanelRows);
  std::vector<std::byte> panel(kernel->panel_bytes(*format, kIn));
  for (auto _ : state) {
    kernel->pack(*format, rows.data(), kPanelRows, kIn, panel.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(rows.size()) * state.iterations());
}

const LinearKernel* kernel_for(const quant::QuantFormat& format, MatmulPrecision precision) {
  for (const LinearKernel& kernel : kernels().linears) {
    const bool fits = kernel.format == "*" || kernel.format == format.name;
    if (fits && kernel.precision == precision && kIn % kernel.k_multiple == 0) return &kernel;
  }
  return nullptr;
}

const bool registered = [] {
  const std::map<std::string, MatmulPrecision> precisions = {
      {"auto", MatmulPrecision::kAuto}, {"bf16", MatmulPrecision::kBf16}, {"f32", MatmulPrecision::kF32}};
  for (const quant::QuantFormat& format : quant::all_formats()) {
    for (const auto& [name, precision] : precisions) {
      const LinearKernel* kernel = kernel_for(format, precision);
      if (kernel == nullptr || format.pack == nullptr) continue;
      const std::string label = std::string(format.name) + "/" + name;
      for (const int threads : {1, 2}) {
        for (const std::int64_t rows : {1, 2, 4, 8, 16, 32, 128, 512}) {
          benchmark::RegisterBenchmark(("linear/" + label).c_str(), linear, &format, kernel)
              ->Args({rows, threads})
              ->UseManualTime()
              ->MinTime(0.2)
              ->Unit(benchmark::kMicrosecond);
        }
      }
      benchmark::RegisterBenchmark(("pack/" + label).c_str(), pack, &format, kernel)->MinTime(0.1);
    }
  }
  return true;
}();

}  // namespace
}  // namespace millrace::backend::cpu
