#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/transformer.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

// A model in memory, ready to run. Each member may refer to the members before it.
struct LoadedModel {
  ModelConfig config;  // the configuration it was loaded with
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<model::Transformer> transformer;
  std::uint64_t content_key = 0;  // checkpoint::content_key() of the checkpoint
};

// Replaces the backend before weights are loaded, for example by a checking decorator. An empty function changes
// nothing.
using BackendWrapper = std::function<std::unique_ptr<backend::Backend>(std::unique_ptr<backend::Backend>)>;

// Reads the model at config.path and packs its weights. Takes seconds for gigabytes, and about as much memory as the
// file. `progress`, if not empty, is called on the calling thread with the packed share of the weights, [0, 1]. Throws
// LoadError; errors of the configuration come before any file is read.
LoadedModel load_model(const ModelConfig& config, const std::function<void(double)>& progress = {},
                       const BackendWrapper& wrap = {});

}  // namespace millrace::runtime
