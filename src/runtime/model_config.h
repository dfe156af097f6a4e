#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/device_kind.h"
#include "base/cpu.h"
#include "base/result.h"
#include "runtime/rank_config.h"

namespace millrace::runtime {

inline constexpr int kMaxThreads = 1024;
inline constexpr std::int64_t kMaxModelLength = std::int64_t{1} << 24;  // tokens

// Configuration of loading and computing a model. Errors name a field by its flag: "kv-cache-dtype".
struct ModelConfig {
  std::string path;            // a .gguf file, or a directory with config.json and weights
  std::string device = "cpu";  // one of backend::device_names()
  int threads = 0;             // worker threads, [0, kMaxThreads]; 0 = as many as affinity and cgroup quota allow
  std::string cpu_isa;         // "scalar", "avx2", ... (base/cpu.h); empty: the best the CPU has
  std::string kv_cache_dtype = "bf16";  // one of kv_cache_dtypes()
  // Layers whose keys and values are stored otherwise, as "0-1:bf16,5:int8"; "" = none.
  std::string kv_exceptions;
  std::string kv_layout = "paged32";      // one of kv_layouts()
  std::int64_t block_size = 0;            // tokens of a page, [0, backend::kMaxBlockTokens]; 0 = the layout's default
  std::string matmul_precision = "auto";  // one of matmul_precisions()
  // What loading makes of weights in f32, f16, bf16 or FP8: one of model::load_quantizations(), "auto" (what fits
  // `memory` with the least error), or the method that the checkpoint has to be of; "" leaves them.
  std::string quantization;
  // backend::IqPanels of i-quants: "fast", "compact", or "auto": fast where they fit `memory`.
  std::string iq_panels = "auto";
  // An importance matrix of llama.cpp, by whose means the rounding of `quantization` weighs errors; "" = none.
  std::string imatrix;
  // Bytes for weights, keys and values of a sequence, and workspace; 0: what is available, which only the two "auto"
  // look at.
  std::uint64_t memory = 0;
  std::string merged_lora;         // directory of an adapter that is merged into the weights; "" = none
  std::int64_t max_model_len = 0;  // limit of tokens of a sequence, [0, kMaxModelLength]; 0 = the model's
  // Where packed weights are kept for the next start: "auto" (the cache directory, for models from 256 MiB), "off", or
  // a directory; "" is "off" too.
  std::string packed_cache = "auto";
  std::uint64_t packed_cache_limit = std::uint64_t{64} << 30;  // bytes; least recently used weights are deleted first
  RankConfig ranks;
  // For the ranks behind rank 0: LoadedModel::file_times of that one. A rank whose own differ reads all of its files to
  // prove that they are the same. 0: there is nothing to prove.
  std::uint64_t file_times = 0;

  // kInvalidArgument naming the first invalid field, its value and the limit. Reads no file and does not check `path`:
  // load_model() does.
  Result<void> validate() const;

  // The functions below convert fields. They throw LoadError if validate() would fail.

  backend::KvFormat kv_pages() const;
  backend::MatmulPrecision precision() const;
  Isa isa() const;  // instruction set of the backend
  // A new backend with `n` threads, [0, kMaxThreads]; 0 = as many as affinity and cgroup quota allow. With iq_panels
  // "auto" it has fast ones; load_model() decides.
  // `group`: of the ranks that it is one of; null: none.
  std::unique_ptr<backend::Backend> make_backend(int n, const backend::PackedCacheConfig& cache = {},
                                                 std::shared_ptr<comm::Communicator> group = nullptr) const;
};

// The values that fields of ModelConfig accept.
const std::vector<std::string>& kv_cache_dtypes();  // of all devices, then aliases
const std::vector<std::string>& kv_layouts();       // of all devices
const std::vector<std::string>& matmul_precisions();
const std::vector<std::string>& quantization_names();  // of loading
const std::vector<std::string>& iq_panel_names();

}  // namespace millrace::runtime
