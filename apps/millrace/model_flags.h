#pragma once

#include <functional>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "hub_access.h"
#include "runtime/loaded_model.h"

namespace CLI {
class App;
}

namespace millrace::app {

using runtime::LoadedModel;

// Flags of the commands that run a model, stored in the fields of ModelConfig. They leave `path` empty: load_model()
// takes the path from `model`.
struct ModelFlags : runtime::ModelConfig {
  std::string model = "default";  // reference of the model, see model_path()
  HubFlags hub;

  void declare(CLI::App& app);
  void declare_machine(CLI::App& app);  // only device, threads, instruction set and precision

 private:
  void declare_ranks(CLI::App& app);
  void declare_cache(CLI::App& app);  // of keys and values, and of packed weights
};

// The path of the model that a reference names: a file or directory, org/name on the hub, or "default", the model that
// `./dev setup` installs. A model of the hub that is not in the cache is downloaded, unless offline. Throws LoadError:
// kNotFound if there is no such model.
std::string model_path(const std::string& reference, const HubFlags& hub = {});
// Throws LoadError if no model can have that reference: a path that does not exist, a name of another library. Reads
// the disk and not the network.
void check_reference(const std::string& reference);
std::string default_model_path();  // of "default"; the file may be absent
// Opens the checkpoint at model_path() without packing its weights. Throws LoadError.
std::unique_ptr<checkpoint::Checkpoint> open_model(const std::string& reference, const HubFlags& hub = {});
// Validates the flags, finds or downloads the model, and calls runtime::load_model(). Flags are checked before anything
// is downloaded. Throws LoadError.
LoadedModel load_model(const ModelFlags& flags, const runtime::BackendWrapper& wrap = {},
                       const std::function<void(double)>& progress = {});

}  // namespace millrace::app
