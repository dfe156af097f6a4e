#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/adapter.h"
#include "model/adapters/adapter_files.h"
#include "model/adapters/adapter_options.h"
#include "model/transformer.h"

namespace millrace::model {

// Reads an adapter's files and packs it for a model. On any thread, also while the model runs. Either everything in the
// files is understood and fits the model, or it throws LoadError naming file, field or tensor, the expected and the
// found value.
class AdapterLoader {
 public:
  // All must outlive the loader; `checkpoint` is the model's.
  AdapterLoader(const checkpoint::Checkpoint& checkpoint, const Transformer& model, backend::Backend& backend)
      : checkpoint_(checkpoint), model_(model), backend_(backend) {}

  // `path`: a directory of PEFT, or a file in GGUF or safetensors, as open_adapter() takes them.
  std::shared_ptr<const Adapter> load(Env& env, const std::string& path, const AdapterOptions& options) const;
  // The same of files that are open.
  std::shared_ptr<const Adapter> load(const AdapterFiles& files, const AdapterOptions& options) const;
  AdapterFiles open(Env& env, const std::string& path) const;

 private:
  const checkpoint::Checkpoint& checkpoint_;
  const Transformer& model_;
  backend::Backend& backend_;
};

}  // namespace millrace::model
