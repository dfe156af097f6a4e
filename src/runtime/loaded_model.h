#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/transformer.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

// A model in memory, ready to run. Members in the order they depend on each other.
struct LoadedModel {
  ModelConfig config;  // that it was loaded by
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<model::Transformer> transformer;
  std::uint64_t content_key = 0;  // of the checkpoint
};

// Changes the backend before a model is loaded through it; may be empty.
using BackendWrapper = std::function<std::unique_ptr<backend::Backend>(std::unique_ptr<backend::Backend>)>;

// Reads the model at config.path and packs its weights: seconds for gigabytes, and as much memory. `progress`, if any,
// is told the share of the weights that is packed, [0, 1], on the calling thread. Throws LoadError; what is wrong
// with the configuration is said before any file is read.
LoadedModel load_model(const ModelConfig& config, const std::function<void(double)>& progress = {},
                       const BackendWrapper& wrap = {});

}  // namespace millrace::runtime
