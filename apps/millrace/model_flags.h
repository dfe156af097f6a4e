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

// The flags of every command that runs a model. They fill the configuration, but for its path, which `model` leads to.
struct ModelFlags : runtime::ModelConfig {
  std::string model = "default";
  HubFlags hub;

  void declare(CLI::App& app);
  void declare_machine(CLI::App& app);  // device, threads, instruction set and precision alone
};

// Where a model reference leads: "default" is the model that `./dev setup` places; a name on the hub that is not in the
// cache is downloaded, unless offline. Throws LoadError.
std::string model_path(const std::string& reference, const HubFlags& hub = {});
std::string default_model_path();
std::unique_ptr<checkpoint::Checkpoint> open_model(const std::string& reference, const HubFlags& hub = {});
// runtime::load_model() of the reference; what is wrong with the flags is said before anything is downloaded.
LoadedModel load_model(const ModelFlags& flags, const runtime::BackendWrapper& wrap = {},
                       const std::function<void(double)>& progress = {});

}  // namespace millrace::app
