#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/device_kind.h"
#include "base/cpu.h"
#include "checkpoint/checkpoint.h"
#include "hub_access.h"
#include "model/transformer.h"

namespace CLI {
class App;
}

namespace millrace::app {

// The flags of every command that runs a model.
struct ModelFlags {
  std::string model = "default";
  std::string device = "cpu";
  int threads = 0;
  std::string cpu_isa;
  std::string kv_cache_dtype = "bf16", kv_layout = "paged32";
  std::int64_t block_size = 0;  // tokens of a page; 0 = the layout's own
  std::string matmul_precision = "auto";
  std::int64_t max_model_len = 0;
  std::string packed_cache = "auto";
  std::uint64_t packed_cache_limit = std::uint64_t{64} << 30;
  HubFlags hub;

  void declare(CLI::App& app);
  void declare_machine(CLI::App& app);  // device, threads, instruction set and precision alone
  backend::KvFormat kv_pages() const;   // throws LoadError where the layout has no pages of that size
  // The backend of --device, with so many threads; 0 = all there are. Throws LoadError.
  std::unique_ptr<backend::Backend> make_backend(int threads, const backend::PackedCacheConfig& cache = {}) const;
  backend::MatmulPrecision precision() const;
  Isa isa() const;  // the one that the backend made of these flags runs
};
// What --kv-cache-dtype and --kv-layout take.
const std::vector<std::string>& kv_cache_dtypes();
const std::vector<std::string>& kv_layouts();

// A model in memory, ready to run. Members in the order they depend on each other.
struct LoadedModel {
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<model::Transformer> transformer;
  std::uint64_t content_key = 0;  // of the checkpoint
};

// Where a model reference leads: "default" is the model that `./dev setup` places; a name on the hub that is not in the
// cache is downloaded, unless offline. Throws LoadError.
std::string model_path(const std::string& reference, const HubFlags& hub = {});
std::string default_model_path();
std::unique_ptr<checkpoint::Checkpoint> open_model(const std::string& reference, const HubFlags& hub = {});
// `wrap`, if any, gets the backend before the model is loaded through it; `progress`, if any, is told the share of the
// weights that is packed, [0, 1].
using BackendWrapper = std::function<std::unique_ptr<backend::Backend>(std::unique_ptr<backend::Backend>)>;
LoadedModel load_model(const ModelFlags& flags, const BackendWrapper& wrap = {},
                       const std::function<void(double)>& progress = {});

// $XDG_CACHE_HOME/millrace or ~/.cache/millrace.
std::string cache_directory();

}  // namespace millrace::app
