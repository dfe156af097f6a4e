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

// How a model is loaded and computed. Errors name fields as the command line's flags do, for example "kv-cache-dtype".
struct ModelConfig {
  std::string path;                       // a .gguf file, or a directory with config.json and weights
  std::string device = "cpu";             // one of backend::device_names()
  int threads = 0;                        // [0, kMaxThreads]; 0 = as many as CPU affinity and cgroup quota allow
  std::string cpu_isa;                    // "scalar", "avx2", ... (base/cpu.h); empty = the best of this CPU
  std::string kv_cache_dtype = "bf16";    // one of kv_cache_dtypes()
  std::string kv_layout = "paged32";      // one of kv_layouts()
  std::int64_t block_size = 0;            // tokens of a page, [0, backend::kMaxBlockTokens]; 0 = the layout's default
  std::string matmul_precision = "auto";  // one of matmul_precisions()
  std::int64_t max_model_len = 0;         // tokens of a sequence, [0, kMaxModelLength]; 0 = the model's limit
  std::string packed_cache = "auto";      // packed weights on disk: "auto" (large models), "off" or "", or a directory
  std::uint64_t packed_cache_limit = std::uint64_t{64}
                                     << 30;  // bytes in that directory; least recently used files go first

  // kInvalidArgument naming the first field that is wrong, its value and the limit. Reads no file: load_model() checks
  // `path`.
  Result<void> validate() const;

  // The parsed fields. The functions below throw LoadError where validate() fails.
  backend::KvFormat kv_pages() const;
  backend::MatmulPrecision precision() const;
  Isa isa() const;  // the instruction set that the backend uses
  // A new backend with n threads; 0 = as many as there are processors.
  std::unique_ptr<backend::Backend> make_backend(int n, const backend::PackedCacheConfig& cache = {}) const;
};

const std::vector<std::string>& kv_cache_dtypes();
const std::vector<std::string>& kv_layouts();  // of all devices
const std::vector<std::string>& matmul_precisions();

}  // namespace millrace::runtime
