#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/block.h"
#include "model/model_spec.h"
#include "model/weight_loader.h"

namespace millrace::model {

// A linear layer as adapters call it, and where a base has its weights.
struct LinearModule {
  std::string name;                 // "model.layers.0.self_attn.q_proj"
  std::int64_t rows = 0, cols = 0;  // outputs and inputs
  struct Part {
    BlockWeight module, base;  // the same rows, as the module orders them and as the base's files have them
    std::string base_tensor;   // name in the base's spec
  };
  std::vector<Part> parts;  // one, but of modules that are fused here and apart in the base

  // The last part of its name: "q_proj".
  std::string kind() const { return name.substr(name.rfind('.') + 1); }
};

// The linear layers of a base's blocks that adapters can change, in their order, and its head, unless that is tied.
// Without experts and routers. `spec` is that of make_spec(). Throws LoadError: errors of make_module_spec().
std::vector<LinearModule> linear_modules(const checkpoint::Checkpoint& base, const ModelSpec& spec);

// The weights of a module, [rows, cols] in its own order. `files` are the base's. Throws LoadError.
std::vector<float> module_weights(const LinearModule& module, WeightLoader& files);

}  // namespace millrace::model
