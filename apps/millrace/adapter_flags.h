#pragma once

#include "hub_access.h"
#include "model_flags.h"
#include "runtime/adapter_config.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Flags about a model's adapters, stored in `adapters`.
void declare_adapters(CLI::App& app, runtime::AdapterConfig& adapters);
// The flags about adapters that come and go while a server runs.
void declare_adapter_life(CLI::App& app, runtime::AdapterConfig& adapters);

// Where an adapter is that a user names: a path stays; of org/name on the hub, what the cache lacks is downloaded,
// unless offline. Throws LoadError.
std::string adapter_path(const std::string& given, const HubFlags& hub);
// With the paths of adapters that are named as org/name on the hub; what the cache lacks is downloaded, unless offline.
// Throws LoadError.
runtime::AdapterConfig resolved_adapters(const runtime::AdapterConfig& adapters, const HubFlags& hub);
// Where `adapters` says that its one is merged, makes it one of `model` that loading merges into the weights, and
// forgets it in `adapters`. Throws LoadError.
void merge_adapters(runtime::AdapterConfig& adapters, ModelFlags& model);
// Logs a warning for each adapter that was made for a model of the hub with another name than `model`, as far as both
// say so: its shapes decide whether it fits. Reads the adapters' configurations; what is wrong with them is not said.
void warn_of_other_bases(const runtime::AdapterConfig& adapters, const std::string& model);

}  // namespace millrace::app
