#pragma once

#include <memory>
#include <string>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/peft_config.h"

namespace millrace::model {

// The files of an adapter as PEFT writes them: a directory with adapter_config.json and adapter_model.safetensors (or
// .bin), read into memory as a whole: what changes meanwhile has no effect.
struct AdapterFiles {
  std::string path;
  PeftConfig config;
  // Its tensors, by the names of the base's modules: "model.layers.0.self_attn.q_proj.lora_A.weight". What other tools
  // put in front of or into names is gone.
  checkpoint::Checkpoint tensors;
};

// Throws LoadError naming file, field or tensor.
AdapterFiles open_adapter(Env& env, const std::string& directory);

}  // namespace millrace::model
