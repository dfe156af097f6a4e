#include "backend/cpu/probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "backend/cpu/kernels.h"
#include "base/buffer.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Long against starting a team (about a microsecond), short against a scheduler's time slice.
constexpr double kPassSeconds = 2e-3;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Rate {
  double best = 0.0, sustained = 0.0;  // of a pass, of all together
};

// Of passes repeated for `seconds`, two at least; pass() returns the amount done.
template <typename Pass>
Rate measure_rate(double seconds, Pass pass) {
  Rate rate;
  double done = 0.0, passing = 0.0;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 2 || seconds_since(start) < seconds; ++i) {
    const Clock::time_point begin = Clock::now();
    const double amount = pass(), took = seconds_since(begin);
    rate.best = std::max(rate.best, amount / took);
    done += amount;
    passing += took;
  }
  rate.sustained = done / passing;
  return rate;
}

double measure_arithmetic(WorkerTeam& team, double (*peak)(std::int64_t), double seconds) {
  if (peak == nullptr) return 0.0;
  std::int64_t steps = 256;
  for (double took = 0.0; took < kPassSeconds / 2; steps *= 2) {
    const Clock::time_point begin = Clock::now();
    peak(steps);
    took = seconds_since(begin);
  }
  const auto pass = [&] {
    std::atomic<double> total{0.0};
    team.run([&](int) { total.fetch_add(peak(steps)); });
    return total.load();
  };
  return measure_rate(seconds, pass).best;
}

std::size_t stream_bytes(const CpuInfo& info) {
  constexpr std::int64_t kMin = std::int64_t{64} << 20, kMax = std::int64_t{512} << 20;
  std::int64_t bytes = std::clamp(4 * info.l3_bytes, kMin, kMax);
  if (info.memory_available_bytes > 0) bytes = std::min(bytes, info.memory_available_bytes / 4);
  return static_cast<std::size_t>(bytes);
}

// Nothing where getting the memory takes longer than `max_seconds`.
Rate measure_read(WorkerTeam& team, const KernelSet& kernels, double seconds, double max_seconds = 1e9) {
  // Pieces of 512 KB dealt in order: each thread reads long runs, and one that was interrupted does not hold up the
  // others.
  constexpr std::size_t kPiece = std::size_t{512} << 10;
  Result<Buffer> buffer = Buffer::allocate(stream_bytes(cpu_info()));
  if (!buffer) return {};
  const std::size_t pieces = buffer->size() / kPiece;
  if (pieces == 0) return {};
  // Written first: pages never touched would all be the one page of zeros.
  const Clock::time_point start = Clock::now();
  team.split(static_cast<std::int64_t>(pieces), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end && seconds_since(start) < max_seconds; ++i) {
      std::memset(buffer->data() + static_cast<std::size_t>(i) * kPiece, 0x3f, kPiece);
    }
  });
  if (seconds_since(start) >= max_seconds) return {};
  // A pass reads the next 32 MB at most, around and around: what it left in the cache is gone when it comes by again.
  const std::size_t pass_pieces = std::clamp<std::size_t>(pieces / 4, 1, 64);
  std::size_t first = 0;
  return measure_rate(seconds, [&] {
    std::atomic<std::size_t> next{0};
    team.run([&](int) {
      for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < pass_pieces;) {
        kernels.read_stream(buffer->data() + (first + i) % pieces * kPiece, kPiece);
      }
    });
    first = (first + pass_pieces) % pieces;
    return static_cast<double>(pass_pieces * kPiece);
  });
}

}  // namespace

MachineLimits measure_limits(int threads, Isa isa, double seconds_per_probe) {
  WorkerTeam team(threads);
  const KernelSet kernels = select_kernels(isa);
  const Rate read = measure_read(team, kernels, seconds_per_probe);
  return {.read_gb_s = read.best * 1e-9,
          .read_sustained_gb_s = read.sustained * 1e-9,
          .f32_gflop_s = measure_arithmetic(team, kernels.peak_f32, seconds_per_probe) * 1e-9,
          .int8_gop_s = measure_arithmetic(team, kernels.peak_int8, seconds_per_probe) * 1e-9,
          .bf16_gflop_s = measure_arithmetic(team, kernels.peak_bf16, seconds_per_probe) * 1e-9};
}

MachineLimits measure_limits_within(int threads, Isa isa, double seconds) {
  WorkerTeam team(threads);
  const KernelSet kernels = select_kernels(isa);
  const double each = seconds / 8.0;
  const Rate read = measure_read(team, kernels, 2.0 * each, 2.0 * each);
  return {.read_gb_s = read.best * 1e-9,
          .read_sustained_gb_s = read.sustained * 1e-9,
          .f32_gflop_s = measure_arithmetic(team, kernels.peak_f32, each) * 1e-9,
          .int8_gop_s = measure_arithmetic(team, kernels.peak_int8, each) * 1e-9,
          .bf16_gflop_s = measure_arithmetic(team, kernels.peak_bf16, each) * 1e-9};
}

double measure_read_bandwidth(int threads, Isa isa, double seconds) {
  WorkerTeam team(threads);
  return measure_read(team, select_kernels(isa), seconds).best * 1e-9;
}

}  // namespace millrace::backend::cpu
