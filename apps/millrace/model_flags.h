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

// The flags of every command that runs a model. They set the members of the configuration, except `path`, which
// model_path() finds for `model`.
struct ModelFlags : runtime::ModelConfig {
  std::string model = "default";
  HubFlags hub;

  void declare(CLI::App& app);
  void declare_machine(CLI::App& app);  // only device, threads, instruction set and precision
};

// The path of a model reference: a path, a name on the hub, or "default" for the model that `./dev setup` installs.
// Downloads a hub model that is not in the cache, unless offline. Throws LoadError.
std::string model_path(const std::string& reference, const HubFlags& hub = {});
std::string default_model_path();
std::unique_ptr<checkpoint::Checkpoint> open_model(const std::string& reference, const HubFlags& hub = {});
// runtime::load_model() of the reference. Errors of the flags come before any download.
LoadedModel load_model(const ModelFlags& flags, const runtime::BackendWrapper& wrap = {},
                       const std::function<void(double)>& progress = {});

}  // namespace millrace::app
