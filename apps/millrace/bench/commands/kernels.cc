#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "base/cpu.h"
#include "bench/kernel_timing.h"
#include "bench/number_list.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"
#include "model_flags.h"
#include "quant/group_format.h"

namespace millrace::bench::commands {
namespace {

struct KernelsFlags {
  std::string ops = "linear,attention", formats = "q4_0,q8_0,bf16", rows = "1,4,8,16,32,512", shapes = "8192x2048";
  std::string contexts = "4096", heads = "32:8:64";
  std::string kv_dtypes = "bf16", kv_layouts = "paged32", block_sizes, kv_pages = "contiguous";
  double min_seconds = 0.3, probe_seconds = 0.03;
  int repeats = 3;
  app::ModelFlags machine;  // of which threads, instruction set and precision are used
  ReportFlags report;
};

// Operands are read again after this many times the last-level cache: after three times a fifth of them was still
// there, as no cache replaces the oldest line first (measured: 124 % of the read bandwidth).
constexpr std::int64_t kCachesToPass = 16;

constexpr std::int64_t kMaxDimension = std::int64_t{1} << 20, kMaxRows = 1 << 14, kMaxContext = std::int64_t{1} << 20;
constexpr std::int64_t kMaxQueryHeads = 128;

// An operation's name, or the part of it before "_": "attention" is attention_decode and attention_prefill.
std::vector<const KernelOp*> find_ops(const std::string& text) {
  std::vector<const KernelOp*> found;
  std::string known;
  for (const KernelOp& op : all_kernel_ops()) known += (known.empty() ? "" : ", ") + std::string(op.name);
  for (const std::string& word : parse_words("op", text)) {
    const std::size_t before = found.size();
    for (const KernelOp& op : all_kernel_ops()) {
      if (word == "all" || op.name == word || op.name.starts_with(word + "_")) found.push_back(&op);
    }
    if (found.size() == before) {
      throw_load_error(ErrorCode::kInvalidArgument, "op", "op is '{}': expected all or some of {}", word, known);
    }
  }
  return found;
}

// "all" and the names of what files hold; by name also the groups that checkpoints are read as ("e4m3_g128").
std::vector<const quant::QuantFormat*> find_formats(const std::string& text) {
  std::vector<const quant::QuantFormat*> found;
  std::string known;
  for (const quant::QuantFormat& format : quant::all_formats()) {
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  for (const std::string& word : parse_words("format", text)) {
    if (word == "all") {
      for (const quant::QuantFormat& format : quant::all_formats()) found.push_back(&format);
    } else if (const quant::QuantFormat* format = quant::find_any_format(word)) {
      found.push_back(format);
    } else {
      throw_load_error(ErrorCode::kInvalidArgument, "format",
                       "format is '{}': expected all, one of the groups of docs/quant.md (e4m3_g128) or some of {}",
                       word, known);
    }
  }
  return found;
}

// "8192x2048" and "32:8:64": numbers with `between` between them.
std::vector<std::int64_t> parse_tuple(const std::string& flag, std::string text, char between, std::size_t n) {
  const std::string asked = text;
  const bool commas = text.find(',') != std::string::npos;
  std::replace(text.begin(), text.end(), between, ',');
  const auto numbers = commas ? std::vector<std::int64_t>() : parse_numbers(flag, text, 1, kMaxDimension);
  if (numbers.size() != n) {
    throw_load_error(ErrorCode::kInvalidArgument, flag, "{} is '{}': expected {} numbers with '{}' between them", flag,
                     asked, n, between);
  }
  return numbers;
}

// The words of a list, all of them known ones.
std::vector<std::string> parse_names(const std::string& flag, const std::string& text,
                                     const std::vector<std::string>& known) {
  std::vector<std::string> words = parse_words(flag, text);
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw_load_error(ErrorCode::kInvalidArgument, flag, "{} is '{}': expected some of {}", flag, word,
                       fmt::join(known, ", "));
    }
  }
  return words;
}

std::vector<KernelSizes::Cache> caches_of(const KernelsFlags& flags) {
  std::vector<std::int64_t> block_sizes = {0};
  if (!flags.block_sizes.empty()) {
    block_sizes = parse_numbers("block-size", flags.block_sizes, 1, backend::kMaxBlockTokens);
  }
  std::vector<KernelSizes::Cache> caches;
  app::ModelFlags one;
  for (const std::string& dtype : parse_names("kv-cache-dtype", flags.kv_dtypes, runtime::kv_cache_dtypes())) {
    for (const std::string& layout : parse_names("kv-layout", flags.kv_layouts, runtime::kv_layouts())) {
      for (const std::int64_t block_size : block_sizes) {
        one.kv_cache_dtype = dtype, one.kv_layout = layout, one.block_size = block_size;
        for (const std::string& pages : parse_names("kv-pages", flags.kv_pages, {"contiguous", "scattered"})) {
          caches.push_back({dtype, layout, one.kv_pages(), pages == "scattered"});
        }
      }
    }
  }
  return caches;
}

// "32:8:64", or "32:8:192:128" where values are not of the size of keys.
void read_heads(const std::string& text, const backend::Limits& limits, KernelSizes& sizes) {
  const auto heads = parse_tuple("heads", text, ':', std::ranges::count(text, ':') == 3 ? 4 : 3);
  sizes.heads = heads[0], sizes.kv_heads = heads[1], sizes.head_dim = heads[2], sizes.value_dim = heads.back();
  if (heads[0] % heads[1] == 0 && heads[0] <= kMaxQueryHeads && sizes.head_dim <= limits.max_key_dim &&
      sizes.value_dim <= limits.max_value_dim) {
    return;
  }
  throw_load_error(ErrorCode::kInvalidArgument, "heads",
                   "heads is '{}': expected QUERY:KEY:DIM or QUERY:KEY:DIM:VALUE_DIM with at most {} query heads, a "
                   "multiple of the key heads, keys of 1 to {} and values of 1 to {} dimensions",
                   text, kMaxQueryHeads, limits.max_key_dim, limits.max_value_dim);
}

KernelSizes sizes_of(const KernelsFlags& flags, const backend::Limits& limits) {
  KernelSizes sizes;
  sizes.formats = find_formats(flags.formats);
  sizes.rows = parse_numbers("rows", flags.rows, 1, kMaxRows);
  for (const std::string& word : parse_words("shape", flags.shapes)) {
    const auto shape = parse_tuple("shape", word, 'x', 2);
    sizes.shapes.push_back({shape[0], shape[1]});
  }
  sizes.contexts = parse_numbers("context", flags.contexts, 1, kMaxContext);
  sizes.caches = caches_of(flags);
  read_heads(flags.heads, limits, sizes);
  sizes.precision = flags.machine.precision();
  return sizes;
}

std::string share_text(const metrics::Spread& share) {
  return share.max > 0.0 ? fmt::format("{:.0f}", 100.0 * share.median) : "-";
}

Json json_of_case(const KernelOp& op, const KernelCase& c, const KernelMetrics& metrics) {
  const auto share = [](const metrics::Spread& s) {
    return s.max > 0.0 ? json_of(metrics::Spread{100.0 * s.median, 100.0 * s.min, 100.0 * s.max}) : Json(nullptr);
  };
  const auto rate = [](const metrics::Spread& s) { return s.max > 0.0 ? json_of(s) : Json(nullptr); };
  Json out = {{"op", op.name}};
  out.update(c.labels);
  out["arithmetic"] = c.arithmetic ? Json(to_string(*c.arithmetic)) : Json(nullptr);
  out["bytes"] = c.bytes;
  out["operations"] = c.operations > 0.0 ? Json(c.operations) : Json(nullptr);
  out["microseconds"] = json_of(metrics.microseconds);
  out["gb_s"] = json_of(metrics.gb_s);
  out["gop_s"] = rate(metrics.gop_s);
  out["read_percent"] = share(metrics.read_share);
  out["peak_percent"] = share(metrics.peak_share);
  out["best_percent"] = metrics.best_share > 0.0 ? Json(100.0 * metrics.best_share) : Json(nullptr);
  return out;
}

int kernels(const KernelsFlags& flags) {
  flags.report.check_writable();
  const std::vector<const KernelOp*> ops = find_ops(flags.ops);
  const auto backend = flags.machine.make_backend(flags.machine.threads);
  const KernelSizes sizes = sizes_of(flags, backend->limits());
  const Isa isa = flags.machine.isa();
  const CpuInfo cpu = cpu_info();
  const KernelContext context{
      .backend = *backend,
      .isa = isa,
      .cycle_bytes =
          static_cast<std::size_t>(std::clamp<std::int64_t>(kCachesToPass * cpu.l3_bytes, 64 << 20, 1 << 30)),
      .memory_bytes = static_cast<std::size_t>(cpu.memory_available_bytes > 0 ? cpu.memory_available_bytes / 2
                                                                              : std::int64_t{4} << 30)};
  backend::MachineProbe probe(backend->threads(), isa, flags.probe_seconds);
  Table table({{"op", true},
               {"of", true},
               {"rows"},
               {"us"},
               {"GB/s"},
               {"read %"},
               {"GOP/s"},
               {"peak %"},
               {"of peak", true},
               {"best %"}});
  Json results = Json::array();
  for (const KernelOp* op : ops) {
    op->cases(sizes, context, [&](KernelCase c) {
      const KernelMetrics f = time_case(c, probe, {.min_seconds = flags.min_seconds, .repeats = flags.repeats});
      results.push_back(json_of_case(*op, c, f));
      table.add({std::string(op->name), c.what, std::to_string(c.rows), rounded(f.microseconds.median),
                 rounded(f.gb_s.median), share_text(f.read_share), rounded(f.gop_s.median), share_text(f.peak_share),
                 c.arithmetic ? std::string(to_string(*c.arithmetic)) : "-",
                 f.best_share > 0.0 ? fmt::format("{:.0f}", 100.0 * f.best_share) : "-"});
    });
  }
  if (flags.report.table()) fmt::print("{}\n{}\n", table.str(), describe(probe.measured()));
  Json report = new_report("kernels", backend->threads(), isa);
  report["options"] = {{"min_seconds", flags.min_seconds},
                       {"repeats", flags.repeats},
                       {"matmul_precision", flags.machine.matmul_precision}};
  report["limits"] = json_of(probe.measured());
  report["results"] = std::move(results);
  write_report(flags.report, report);
  return 0;
}

}  // namespace

app::Command kernels() {
  return {.name = "kernels",
          .summary = "Measure the operations of the backend one by one",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<KernelsFlags>();
            app.add_option(
                "--op", flags->ops,
                "Operations to measure, comma-separated, or all: linear, mlp, project_attention, attention, norm, ...");
            app.add_option("--format", flags->formats,
                           "Weight formats to measure, comma-separated, or all; for operations with weights");
            app.add_option("--rows", flags->rows,
                           "Numbers of activation rows (tokens, or decoding sequences) to measure, comma-separated");
            app.add_option("--shape", flags->shapes,
                           "Weight matrix shapes to measure as OUTPUTSxINPUTS, comma-separated");
            app.add_option("--context", flags->contexts, "Context lengths in tokens for attention, comma-separated");
            app.add_option("--heads", flags->heads,
                           "Attention heads as QUERY:KEY:DIM, e.g. 32:8:64 (query heads, KV heads, head size), or "
                           "QUERY:KEY:DIM:VALUE_DIM, e.g. 32:8:192:128, where values have another size than keys");
            app.add_option("--kv-cache-dtype", flags->kv_dtypes,
                           "KV cache data types to measure, comma-separated: bf16, f16, f32, int8");
            app.add_option("--kv-layout", flags->kv_layouts,
                           "KV cache layouts to measure, comma-separated: paged32, token, vector16");
            app.add_option("--block-size", flags->block_sizes,
                           "Tokens per KV cache page to measure, comma-separated; default the one of each layout");
            app.add_option("--kv-pages", flags->kv_pages,
                           "Placements of a sequence's KV pages to measure, comma-separated: contiguous (in order), "
                           "scattered (random)");
            app.add_option("--min-time", flags->min_seconds, "Min seconds that each case is measured for")
                ->check(CLI::Range(1e-3, 60.0));
            app.add_option("--repeats", flags->repeats,
                           "Number of times that each case is measured, alternating with the limits of the machine")
                ->check(CLI::Range(1, 1000));
            app.add_option("--probe-time", flags->probe_seconds, "Seconds for each measurement of each machine limit")
                ->check(CLI::Range(1e-4, 10.0));
            flags->machine.declare_machine(app);
            flags->report.declare(app);
            return [flags] { return kernels(*flags); };
          },
          .example = "millrace bench kernels --op linear --format q4_0 --rows 1,8"};
}

}  // namespace millrace::bench::commands
