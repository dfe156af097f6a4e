#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/adapters/adapter_files.h"
#include "model/model_spec.h"

namespace millrace::model {

// The spec of a model whose names and orders are those of an adapter's files. Throws LoadError: of another architecture
// than the model's, or errors of make_module_spec().
ModelSpec adapter_spec(const checkpoint::Checkpoint& model, const AdapterFiles& files);

// The modules of a model that adapters may change, by Hugging Face's names. Throws LoadError as make_module_spec().
std::vector<std::string> adapter_modules(const checkpoint::Checkpoint& model);

}  // namespace millrace::model
