#include "loaded_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "base/readable_bytes.h"
#include "checkpoint/content_key.h"
#include "cli.h"
#include "hub/model_lookup.h"
#include "model/make_spec.h"
#include "outlier_policy.h"

namespace millrace::app {
namespace {

constexpr const char* kDefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

}  // namespace

const std::vector<std::string>& kv_cache_dtypes() {
  static const std::vector<std::string> names = {"bf16", "f16", "f32", "int8"};
  return names;
}

const std::vector<std::string>& kv_layouts() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const std::string& device : backend::device_names()) {
      for (const std::string_view layout : backend::find_device(device)->kv_layouts()) {
        if (std::ranges::find(all, layout) == all.end()) all.emplace_back(layout);
      }
    }
    return all;
  }();
  return names;
}

void ModelFlags::declare_machine(CLI::App& app) {
  app.add_option("--device", device, fmt::format("Device that computes: {}", fmt::join(backend::device_names(), ", ")))
      ->envname("MILLRACE_DEVICE")
      ->check(CLI::IsMember(backend::device_names()));
  app.add_option("-t,--threads", threads, "Worker threads; 0 = as many as CPU affinity and the cgroup quota allow")
      ->envname("MILLRACE_THREADS");
  app.add_option("--cpu-isa", cpu_isa,
                 "Instruction set: scalar, avx2, avx_vnni, avx512_vnni or avx512_bf16; default the best the CPU has")
      ->envname("MILLRACE_CPU_ISA");
  app.add_option("--matmul-precision", matmul_precision,
                 "Precision of matrix products. auto: int8 activations for quantized weights, in two int8 terms where "
                 "one is too coarse; int8x2: always two int8 terms; bf16: weights and activations in bf16, more "
                 "memory; f32: weights unpacked to f32, exact and slower")
      ->envname("MILLRACE_MATMUL_PRECISION")
      ->check(CLI::IsMember({"auto", "int8x2", "bf16", "f32"}));
}

void ModelFlags::declare(CLI::App& app) {
  declare_machine(app);
  app.add_option(
         "--kv-cache-dtype", kv_cache_dtype,
         "Data type of the KV cache: bf16, f16, f32, or int8 (half the memory of bf16, one scale per token and head)")
      ->envname("MILLRACE_KV_CACHE_DTYPE")
      ->check(CLI::IsMember(kv_cache_dtypes()));
  app.add_option("--kv-layout", kv_layout,
                 "Memory layout of the KV cache: paged32 (tiles the kernels read in place), token (as in LightLLM) or "
                 "vector16 (as in vLLM)")
      ->envname("MILLRACE_KV_LAYOUT")
      ->check(CLI::IsMember(kv_layouts()));
  app.add_option("--block-size", block_size,
                 "Tokens per KV cache page; default 32 for --kv-layout paged32, 1 for token, 16 for vector16")
      ->envname("MILLRACE_BLOCK_SIZE")
      ->check(CLI::Range(std::int64_t{1}, backend::kMaxBlockTokens));
  app.add_option("-c,--max-model-len,--ctx-size", max_model_len,
                 "Max tokens of a sequence, prompt and completion together; 0 = the model's context length")
      ->envname("MILLRACE_MAX_MODEL_LEN")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24));
  app.add_option("--packed-cache", packed_cache,
                 "Keep packed weights on disk for a faster start: auto (large models only, in the cache directory), "
                 "off, or a directory")
      ->envname("MILLRACE_PACKED_CACHE");
  app.add_option(
         "--packed-cache-limit", packed_cache_limit,
         "Max bytes that --packed-cache keeps on disk, e.g. 20GB; the least recently used weights are deleted first")
      ->envname("MILLRACE_PACKED_CACHE_LIMIT")
      ->transform(CLI::AsSizeValue(false));
  hub.declare(app);
}

backend::KvFormat ModelFlags::kv_pages() const {
  const DType dtype = kv_cache_dtype == "int8"  ? DType::kI8
                      : kv_cache_dtype == "f32" ? DType::kF32
                      : kv_cache_dtype == "f16" ? DType::kF16
                                                : DType::kBF16;
  return backend::choose_device(device).or_throw()->kv_format(dtype, kv_layout, block_size).or_throw();
}

std::unique_ptr<backend::Backend> ModelFlags::make_backend(int n, const backend::PackedCacheConfig& cache) const {
  const backend::BackendConfig config{.threads = n, .isa = cpu_isa, .packed_cache = cache};
  return backend::choose_device(device).or_throw()->make(config).or_throw();
}

backend::MatmulPrecision ModelFlags::precision() const {
  return matmul_precision == "int8x2" ? backend::MatmulPrecision::kInt8x2
         : matmul_precision == "f32"  ? backend::MatmulPrecision::kF32
         : matmul_precision == "bf16" ? backend::MatmulPrecision::kBf16
                                      : backend::MatmulPrecision::kAuto;
}

Isa ModelFlags::isa() const { return choose_isa(cpu_isa).or_throw(); }

std::string cache_directory() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0')
    return std::string(xdg) + "/millrace";
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "." : home) + "/.cache/millrace";
}

std::string default_model_path() { return cache_directory() + "/models/" + kDefaultModel; }

std::string model_path(const std::string& reference, const HubFlags& hub) {
  if (reference != "default") {
    auto path = hub::find_path(reference).or_throw();
    return path ? *path : hub_model_path(hub::parse_reference(reference).or_throw(), hub);
  }
  const std::string path = default_model_path();
  if (!std::filesystem::exists(path)) {
    throw_load_error(ErrorCode::kNotFound, "model",
                     "the default model is not there: {}: ./dev setup downloads it; without a network place that file "
                     "by hand, or name a model: a .gguf file, a directory with config.json and safetensors, or "
                     "org/name on the Hugging Face hub",
                     path);
  }
  return path;
}

std::unique_ptr<checkpoint::Checkpoint> open_model(const std::string& reference, const HubFlags& hub) {
  return checkpoint::open_checkpoint(Env::system(), model_path(reference, hub)).or_throw();
}

namespace {

// Smaller models are packed faster than a file is found.
constexpr std::uint64_t kWorthKeeping = std::uint64_t{256} << 20;

backend::PackedCacheConfig packed_cache_of(const ModelFlags& flags, const checkpoint::Checkpoint& checkpoint,
                                           std::uint64_t model_key) {
  std::uint64_t bytes = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) bytes += tensor.bytes;
  if (flags.packed_cache == "off" || (flags.packed_cache == "auto" && bytes < kWorthKeeping)) return {};
  return {.directory = flags.packed_cache == "auto" ? cache_directory() + "/packed" : flags.packed_cache,
          .model_key = model_key,
          .limit_bytes = flags.packed_cache_limit};
}

}  // namespace

LoadedModel load_model(const ModelFlags& flags, const BackendWrapper& wrap,
                       const std::function<void(double)>& progress) {
  static_cast<void>(flags.kv_pages());  // what is wrong with flags is said before anything is read
  LoadedModel loaded;
  Env& env = Env::system();
  const TimePoint start = env.now();
  loaded.checkpoint = open_model(flags.model, flags.hub);
  const std::uint64_t model_key = loaded.content_key = checkpoint::content_key(*loaded.checkpoint);
  const TimePoint opened = env.now();
  loaded.backend = flags.make_backend(flags.threads, packed_cache_of(flags, *loaded.checkpoint, model_key));
  if (wrap) loaded.backend = wrap(std::move(loaded.backend));
  model::ModelOptions options;
  options.max_length = flags.max_model_len;
  options.precision = flags.precision();
  if (progress) {
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
      progress(static_cast<double>(done) / std::max(1.0, static_cast<double>(all)));
    };
  }
  loaded.transformer = std::make_unique<model::Transformer>(
      *loaded.checkpoint, model::make_spec(*loaded.checkpoint, loaded.backend->limits()).or_throw(), *loaded.backend,
      options);
  if (options.precision == backend::MatmulPrecision::kAuto) apply_outlier_policy(loaded, model_key);
  if (const auto& unread = loaded.transformer->spec().unread_fields; !unread.empty()) {
    log::info("{}: fields of the configuration that nothing here reads: {}", loaded.checkpoint->path,
              fmt::join(unread, ", "));
  }
  log::info("{}: opened in {:.0f} ms, {} of weights ready in {:.0f} ms more", loaded.checkpoint->path,
            milliseconds_between(start, opened), readable_bytes(loaded.transformer->weight_bytes()),
            milliseconds_between(opened, env.now()));
  return loaded;
}

}  // namespace millrace::app
