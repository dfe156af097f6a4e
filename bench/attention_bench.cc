// Attention over paged keys and values: bytes of KV per second when decoding, operations per second in prefill.

#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>

#include "backend/backend.h"
#include "kv/kv_store.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kHeads = 32, kKvHeads = 8;

// range: head_dim, keys, query rows.
void attend(benchmark::State& state) {
  static const std::unique_ptr<Backend> cpu = make_cpu_backend({}).or_throw();
  const std::int64_t head_dim = state.range(0), keys = state.range(1), rows = state.range(2);
  const KvGeometry geometry{.dtype = DType::kBF16, .kv_heads = kKvHeads, .head_dim = head_dim};
  const auto pages = static_cast<std::int32_t>((keys + 31) / 32);
  constexpr std::int64_t kLayers = 8;  // visited in turn, so that the keys come from memory
  const kv::KvStore store = kv::KvStore::create(*cpu, kLayers, geometry, pages).or_throw();
  std::vector<std::int32_t> table(static_cast<std::size_t>(pages));
  std::iota(table.begin(), table.end(), 0);
  std::vector<float> q(static_cast<std::size_t>(rows * kHeads * head_dim), 0.1f), out(q.size());
  const SequenceRows sequence{.first_row = 0, .n_rows = rows, .first_position = keys - rows, .pages = table};
  std::int64_t layer = 0;
  for (auto _ : state) {
    AttendArgs args;
    args.q = TensorView(q.data(), DType::kF32, {rows, kHeads * head_dim});
    args.sequences = std::span(&sequence, 1);
    args.kv = store.layer(layer);
    args.heads = kHeads;
    args.scale = 0.1f;
    cpu->attend(args, TensorView(out.data(), DType::kF32, {rows, kHeads * head_dim}));
    cpu->synchronize();
    layer = (layer + 1) % kLayers;
    benchmark::ClobberMemory();
  }
  const double visible = static_cast<double>(keys) - static_cast<double>(rows - 1) / 2.0;
  state.counters["kv_bytes"] =
      benchmark::Counter(static_cast<double>(geometry.page_bytes()) * pages,
                         benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
  state.counters["ops"] =
      benchmark::Counter(4.0 * visible * static_cast<double>(rows * kHeads * head_dim),
                         benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}
BENCHMARK(attend)
    ->Args({64, 4096, 1})
    ->Args({128, 4096, 1})
    ->Args({64, 512, 512})
    ->Args({64, 4096, 512})
    ->Args({128, 4096, 512})
    ->UseRealTime()
    ->MinTime(0.2)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::backend
