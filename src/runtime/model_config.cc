#include "runtime/model_config.h"

#include <algorithm>

#include "model/load_quantization.h"
#include "runtime/field_checks.h"

namespace millrace::runtime {

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

const std::vector<std::string>& matmul_precisions() {
  static const std::vector<std::string> names = {"auto", "int8x2", "bf16", "f32"};
  return names;
}

const std::vector<std::string>& quantization_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"auto"};
    for (const std::string_view name : model::load_quantizations()) all.emplace_back(name);
    return all;
  }();
  return names;
}

namespace {

Result<backend::KvFormat> pages_of(const ModelConfig& config) {
  const DType dtype = config.kv_cache_dtype == "int8"  ? DType::kI8
                      : config.kv_cache_dtype == "f32" ? DType::kF32
                      : config.kv_cache_dtype == "f16" ? DType::kF16
                                                       : DType::kBF16;
  const auto device = backend::choose_device(config.device);
  if (!device) return device.error();
  return (*device)->kv_format(dtype, config.kv_layout, config.block_size);
}

}  // namespace

Result<void> ModelConfig::validate() const {
  if (auto device_known = backend::choose_device(device); !device_known) return device_known.error();
  if (threads < 0 || threads > kMaxThreads) {
    return make_error(ErrorCode::kInvalidArgument, "threads", "threads is {}, must be 0 (all) to {}", threads,
                      kMaxThreads);
  }
  if (auto usable = choose_isa(cpu_isa); !usable) return usable.error();
  if (auto fine = first_failure({one_of("kv-cache-dtype", kv_cache_dtype, kv_cache_dtypes()),
                                 one_of("kv-layout", kv_layout, kv_layouts()),
                                 between<std::int64_t>("block-size", block_size, 0, backend::kMaxBlockTokens),
                                 one_of("matmul-precision", matmul_precision, matmul_precisions()),
                                 model::is_quantization(quantization) || quantization == "auto"
                                     ? Result<void>()
                                     : one_of("quantization", quantization, quantization_names()),
                                 between<std::int64_t>("max-model-len", max_model_len, 0, kMaxModelLength)});
      !fine) {
    return fine;
  }
  const auto pages = pages_of(*this);
  return pages ? Result<void>() : pages.error();
}

backend::KvFormat ModelConfig::kv_pages() const { return pages_of(*this).or_throw(); }

std::unique_ptr<backend::Backend> ModelConfig::make_backend(int n, const backend::PackedCacheConfig& cache) const {
  const backend::BackendConfig config{.threads = n, .isa = cpu_isa, .packed_cache = cache};
  return backend::choose_device(device).or_throw()->make(config).or_throw();
}

backend::MatmulPrecision ModelConfig::precision() const {
  return matmul_precision == "int8x2" ? backend::MatmulPrecision::kInt8x2
         : matmul_precision == "f32"  ? backend::MatmulPrecision::kF32
         : matmul_precision == "bf16" ? backend::MatmulPrecision::kBf16
                                      : backend::MatmulPrecision::kAuto;
}

Isa ModelConfig::isa() const { return choose_isa(cpu_isa).or_throw(); }

}  // namespace millrace::runtime
