#pragma once

#include <string>

#include "base/env.h"
#include "model/adapters/adapter_files.h"
#include "model/adapters/adapter_names.h"

namespace millrace::model {

// The directory that PEFT saved the adapter of a path in: the path itself, or where its weights' file is. Empty for a
// file that is all there is.
std::string adapter_directory(Env& env, const std::string& path);

// Opens a directory with adapter_config.json and adapter_model.safetensors (or .bin), as PEFT writes it; a .gguf file;
// or a .safetensors file that is all there is (read_weights_adapter). Files that are replaced meanwhile are read again,
// so that what is returned is of one state of all of them. Throws LoadError naming file, field or tensor.
AdapterFiles open_adapter(Env& env, const std::string& path, const ModuleNames& modules = {});

}  // namespace millrace::model
