#pragma once

#include "runtime/adapter_config.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Flags about a model's adapters, stored in `adapters`.
void declare_adapters(CLI::App& app, runtime::AdapterConfig& adapters);
// The flag for adapters that are loaded while a server runs.
void declare_adapter_directory(CLI::App& app, runtime::AdapterConfig& adapters);

}  // namespace millrace::app
