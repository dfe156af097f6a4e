#pragma once

#include <memory>
#include <string>

#include "base/env.h"
#include "model/adapters/adapter_files.h"
#include "model/adapters/adapter_names.h"

namespace millrace::model {

// Reads an adapter that is one safetensors file, as Kohya's scripts and diffusers write them. Ranks are those of the
// matrices; alpha is a number beside each, or ss_network_alpha of the file's metadata. `modules` is called where names
// have underscores for dots. Throws LoadError naming file, field or tensor, also where there is no alpha.
AdapterFiles read_weights_adapter(Env& env, const std::string& path, const ModuleNames& modules);
// The same of an open file, whose header and single numbers are read now, and its matrices when they are asked for.
AdapterFiles weights_adapter_of(std::unique_ptr<RandomAccessFile> file, const ModuleNames& modules);

}  // namespace millrace::model
