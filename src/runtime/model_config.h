#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/device_kind.h"
#include "base/cpu.h"
#include "base/result.h"

namespace millrace::runtime {

inline constexpr int kMaxThreads = 1024;
inline constexpr std::int64_t kMaxModelLength = std::int64_t{1} << 24;  // tokens

// How a model is loaded and computed. Errors name fields as the flags of the command line do: "kv-cache-dtype".
struct ModelConfig {
  std::string path;            // a .gguf file, or a directory with config.json and weights
  std::string device = "cpu";  // one of backend::device_names()
  int threads = 0;             // of the device, [0, kMaxThreads]; 0 = as many as affinity and cgroup quota allow
  std::string cpu_isa;         // "scalar", "avx2", ... (base/cpu.h); empty: the best the CPU has
  std::string kv_cache_dtype = "bf16";    // one of kv_cache_dtypes()
  std::string kv_layout = "paged32";      // one of kv_layouts()
  std::int64_t block_size = 0;            // tokens of a page, [0, backend::kMaxBlockTokens]; 0 = the layout's own
  std::string matmul_precision = "auto";  // one of matmul_precisions()
  std::int64_t max_model_len = 0;         // tokens of a sequence, [0, kMaxModelLength]; 0 = the model's own
  std::string packed_cache = "auto";      // of packed weights: "auto" (of large models), "off" or "", or a directory
  std::uint64_t packed_cache_limit = std::uint64_t{64} << 30;  // bytes there; the least recently used go first

  // kInvalidArgument naming the first field that is wrong, its value and the limit. Reads no file: `path` is looked at
  // by load_model() alone.
  Result<void> validate() const;

  // What the fields say. Those below throw LoadError where validate() would fail.
  backend::KvFormat kv_pages() const;
  backend::MatmulPrecision precision() const;
  Isa isa() const;  // that the backend runs
  // The backend with so many threads; 0 = all there are.
  std::unique_ptr<backend::Backend> make_backend(int n, const backend::PackedCacheConfig& cache = {}) const;
};

const std::vector<std::string>& kv_cache_dtypes();
const std::vector<std::string>& kv_layouts();  // of all devices
const std::vector<std::string>& matmul_precisions();

}  // namespace millrace::runtime
