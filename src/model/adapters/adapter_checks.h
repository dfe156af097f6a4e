#pragma once

#include "model/adapters/adapter_files.h"
#include "model/model_spec.h"

namespace millrace::model {

// Throws LoadError naming the tensor if the files have norms or further tokens, which only merging takes. `spec` names
// the modules as the adapter does.
void check_servable(const AdapterFiles& files, const ModelSpec& spec);
// Throws LoadError naming the field if the files lack a tensor of which their configuration tells.
void check_named(const AdapterFiles& files);

}  // namespace millrace::model
