#pragma once

#include <string>
#include <vector>

#include "base/memory_env.h"
#include "checkpoint/safetensors_writer.h"

namespace millrace::checkpoint {

// For tests: config.json of a valid small Llama in the format of Hugging Face. Tests change it to make it invalid.
inline const std::string kTinyConfig =
    R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 8, "hidden_size": 16, "num_hidden_layers": 4,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64,
  "rms_norm_eps": 1e-6, "eos_token_id": 7})";

// The bytes of a .safetensors file with these tensors, each two f32 zeros.
inline std::string tiny_safetensors(const std::vector<std::string>& names) {
  std::vector<TensorSpec> tensors;
  for (const std::string& name : names) tensors.push_back({name, quant::find_format("f32"), Shape{2}});
  return *safetensors_header_bytes({}, tensors) + std::string(8 * names.size(), '\0');
}

// A file system with the model directory "d", which has config.json, the tensors "a" and "b", and no tokenizer.
inline MemoryEnv tiny_directory() {
  MemoryEnv env;
  env.files["d/config.json"] = kTinyConfig;
  env.files["d/model.safetensors"] = tiny_safetensors({"a", "b"});
  return env;
}

}  // namespace millrace::checkpoint
