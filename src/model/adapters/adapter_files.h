#pragma once

#include <string>

#include "checkpoint/checkpoint.h"
#include "model/adapters/peft_config.h"

namespace millrace::model {

// The files of an adapter, read into memory as a whole: what changes meanwhile has no effect.
struct AdapterFiles {
  std::string path;
  PeftConfig config = {};
  // Its tensors, by the names of the base's modules: "model.layers.0.self_attn.q_proj.lora_A.weight". What other tools
  // put in front of or into names is gone.
  checkpoint::Checkpoint tensors = {};
  // GGUF files have names and orders of rows of their own: the base's general.architecture. Empty: those of Hugging
  // Face.
  std::string gguf_architecture = {};
};

}  // namespace millrace::model
