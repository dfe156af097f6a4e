// Attention over paged keys and values, by page type, layout and order of pages in memory: bytes of KV a second when
// decoding, operations a second in prefill, each as a share of what the machine does (probe.h) measured just before.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kv_layout.h"
#include "backend/cpu/probe.h"
#include "kv/kv_store.h"

namespace millrace::backend {
namespace {

constexpr double kProbeSeconds = 0.2;

struct Case {
  std::string_view encoding = "bf16";
  const char* layout = "paged32";
  std::int64_t head_dim = 128, keys = 16384, rows = 1;
  std::int64_t value_dim = 0;  // 0 = head_dim
  bool scattered = false;
  std::int64_t heads = 32, kv_heads = 8;
  float softcap = 0.0f;
};

std::int64_t value_dim_of(const Case& c) { return c.value_dim > 0 ? c.value_dim : c.head_dim; }

void attend(benchmark::State& state, const Case& c) {
  static const std::unique_ptr<Backend> cpu = cpu::make_cpu_backend({}).or_throw();
  const cpu::KvLayout* layout = cpu::find_kv_layout(c.layout);
  const KvFormat form{.encoding = c.encoding, .block_tokens = layout->block_tokens, .layout = layout->name};
  const kv::KvNeed need{.kv_heads = c.kv_heads, .key_dim = c.head_dim, .value_dim = value_dim_of(c)};
  const auto pages = static_cast<std::int32_t>((c.keys + form.block_tokens - 1) / form.block_tokens);
  // Layers visited in turn until the keys come from memory.
  const std::size_t layer_bytes =
      kv::group_layers(std::span(&need, 1), form).page_bytes(*cpu) * static_cast<std::size_t>(pages);
  const auto layers =
      c.rows > 1 ? std::int64_t{1} : static_cast<std::int64_t>((std::size_t{256} << 20) / layer_bytes + 1);
  const kv::KvGroups groups = kv::group_layers(std::vector(static_cast<std::size_t>(layers), need), form);
  const kv::KvStore store = kv::KvStore::create(*cpu, groups, pages).or_throw();
  // Ordinary numbers: denormals or zeros might take another time.
  for (std::int64_t l = 0; l < layers; ++l)
    std::memset(cpu::pointer<std::byte>(store.layer(l).base), 0x3c, layer_bytes);
  std::vector<std::int32_t> table(static_cast<std::size_t>(pages));
  std::iota(table.begin(), table.end(), 0);
  if (c.scattered) std::shuffle(table.begin(), table.end(), std::mt19937(1));
  const std::int64_t out_width = c.heads * value_dim_of(c);
  std::vector<float> q(static_cast<std::size_t>(c.rows * c.heads * c.head_dim), 0.1f),
      out(static_cast<std::size_t>(c.rows * out_width));
  const SequenceRows sequence{.first_row = 0, .n_rows = c.rows, .first_position = c.keys - c.rows, .pages = table};
  const cpu::MachineLimits limits =
      c.rows > 1
          ? cpu::measure_limits(cpu->threads(), detect_isa(), kProbeSeconds)
          : cpu::MachineLimits{.read_gb_s = cpu::measure_read_bandwidth(cpu->threads(), detect_isa(), kProbeSeconds)};
  std::int64_t layer = 0;
  for (auto _ : state) {
    AttendArgs args;
    args.q = DeviceView(cpu::address_of(q.data()), DType::kF32, {c.rows, c.heads * c.head_dim});
    args.sequences = std::span(&sequence, 1);
    args.kv = store.layer(layer);
    args.heads = c.heads;
    args.scale = 0.1f;
    args.softcap = c.softcap;
    cpu->attend(args, DeviceView(cpu::address_of(out.data()), DType::kF32, {c.rows, out_width}));
    cpu->synchronize();
    layer = (layer + 1) % layers;
    benchmark::ClobberMemory();
  }
  using benchmark::Counter;
  if (c.rows > 1) {
    const double visible = static_cast<double>(c.keys) - static_cast<double>(c.rows - 1) / 2.0;
    const double ops = 2.0 * visible * static_cast<double>(c.rows * (c.heads * c.head_dim + out_width));
    const double peak = c.encoding == "bf16"   ? limits.bf16_gflop_s
                        : c.encoding == "int8" ? limits.int8_gop_s
                                               : limits.f32_gflop_s;
    state.counters["GFLOP/s"] = Counter(ops * 1e-9, Counter::kIsIterationInvariantRate);
    state.counters["%peak"] = Counter(ops * 1e-7 / std::max(peak, 1e-9), Counter::kIsIterationInvariantRate);
  } else {
    const double gb = static_cast<double>(layer_bytes) * 1e-9;
    state.counters["GB/s"] = Counter(gb, Counter::kIsIterationInvariantRate);
    state.counters["%read"] = Counter(100.0 * gb / limits.read_gb_s, Counter::kIsIterationInvariantRate);
  }
}

const bool registered = [] {
  const auto add = [](const Case& c) {
    const std::string name =
        fmt::format("attention/{}/{}/{}/d{}{}{}{}/{}keys{}", c.rows > 1 ? "prefill" : "decode", c.encoding, c.layout,
                    c.head_dim, c.value_dim > 0 ? fmt::format("v{}", c.value_dim) : "",
                    c.heads != 32 ? fmt::format("of{}:{}", c.heads, c.kv_heads) : "", c.softcap > 0.0f ? "softcap" : "",
                    c.keys, c.scattered ? "/scattered" : "");
    benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) { attend(state, c); })
        ->UseRealTime()
        ->MinTime(0.3)
        ->Unit(benchmark::kMicrosecond);
  };
  for (const std::int64_t head_dim : {64, 128}) {
    for (const std::string_view encoding : {"bf16", "int8", "f16", "f32"}) {
      add({.encoding = encoding, .head_dim = head_dim});
      add({.encoding = encoding, .head_dim = head_dim, .scattered = true});
      add({.encoding = encoding, .head_dim = head_dim, .keys = 8192, .rows = 512});
    }
    for (const char* layout : {"token", "vector16"}) {
      add({.layout = layout, .head_dim = head_dim});
      add({.layout = layout, .head_dim = head_dim, .scattered = true});
      add({.layout = layout, .head_dim = head_dim, .keys = 8192, .rows = 512});
    }
    add({.head_dim = head_dim, .keys = 512});
    add({.head_dim = head_dim, .keys = 512, .rows = 512});
  }
  for (const std::string_view encoding : {"bf16", "int8"}) {
    add({.encoding = encoding, .head_dim = 192, .value_dim = 128});
    add({.encoding = encoding, .head_dim = 192, .keys = 8192, .rows = 512, .value_dim = 128});
    for (const std::int64_t rows : {1, 32}) {
      add({.encoding = encoding, .head_dim = 64, .keys = 2048, .rows = rows, .heads = 71, .kv_heads = 1});
      add({.encoding = encoding,
           .head_dim = 576,
           .keys = 2048,
           .rows = rows,
           .value_dim = 512,
           .heads = 128,
           .kv_heads = 1});
      for (const float cap : {0.0f, 50.0f}) {
        add({.encoding = encoding,
             .head_dim = 256,
             .keys = 2048,
             .rows = rows,
             .heads = 16,
             .kv_heads = 8,
             .softcap = cap});
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace millrace::backend
