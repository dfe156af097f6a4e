// An adapter for a small model, loaded as a whole: adapter_config.json, a byte 0 and a .safetensors file; nothing
// before the 0: the .safetensors file is all there is; or a GGUF file. Either works, or the error is a LoadError.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/memory_env.h"
#include "model/adapters/load_adapter.h"
#include "model/make_spec.h"

namespace {

using namespace millrace;

// Its queries, keys and values are three matrices, its layers two.
class Base {
 public:
  Base()
      : checkpoint_(checkpoint::open_checkpoint(Env::system(), MILLRACE_GOLDEN "/tiny/llama").or_throw()),
        backend_(backend::cpu::make_cpu_backend({.threads = 1}).or_throw()),
        model_(*checkpoint_, model::make_spec(*checkpoint_).or_throw(), *backend_, {}) {}
  void load(Env& env, const std::string& path) const {
    try {
      const auto adapter = model::AdapterLoader(*checkpoint_, model_, *backend_).load(env, path, {});
      if (adapter->key().empty() || adapter->summary().modules == 0) std::abort();
    } catch (const LoadError&) {
    }
  }

 private:
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<backend::Backend> backend_;
  model::Transformer model_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Base base;
  const std::string all(reinterpret_cast<const char*>(data), size);
  MemoryEnv env;
  if (all.starts_with("GGUF")) {
    env.files["a.gguf"] = all;
    base.load(env, "a.gguf");
    return 0;
  }
  const std::size_t end = all.find('\0');
  const std::string weights = end == std::string::npos ? "" : all.substr(end + 1);
  if (end == 0) {
    env.files["a.safetensors"] = weights;
    base.load(env, "a.safetensors");
  } else {
    env.files = {{"a/adapter_config.json", all.substr(0, end)}, {"a/adapter_model.safetensors", weights}};
    base.load(env, "a");
  }
  return 0;
}
