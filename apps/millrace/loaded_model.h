#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/transformer.h"

namespace millrace::app {

// The flags of every command that runs a model.
struct ModelFlags {
  std::string model = "default";
  int threads = 0;
  std::string cpu_isa;
  std::string kv_cache_dtype = "bf16";
  std::string matmul_precision = "auto";
  std::int64_t max_model_len = 0;

  void declare(CLI::App& app);
  DType kv_dtype() const;
};

// A model in memory, ready to run. Members in the order they depend on each other.
struct LoadedModel {
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<model::Transformer> transformer;
};

// Where a model reference leads: "default" is the model that `./dev setup` places. Throws LoadError (kNotFound).
std::string model_path(const std::string& reference);
std::unique_ptr<checkpoint::Checkpoint> open_model(const std::string& reference);
LoadedModel load_model(const ModelFlags& flags);

// $XDG_CACHE_HOME/millrace or ~/.cache/millrace.
std::string cache_directory();

}  // namespace millrace::app
