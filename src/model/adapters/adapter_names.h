#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::model {

// The names of a model's modules: "model.layers.0.self_attn.q_proj".
using ModuleNames = std::function<std::vector<std::string>()>;

// What the names of a module's matrices end in, as PEFT of today saves them.
inline constexpr std::string_view kMatrixA = ".lora_A.weight", kMatrixB = ".lora_B.weight",
                                  kEmbeddingA = ".lora_embedding_A", kEmbeddingB = ".lora_embedding_B";
inline std::string operator+(const std::string& module, std::string_view end) { return module + std::string(end); }

// A tensor's name as PEFT of today saves it, without what wrappers put in front: "MODULE.lora_A.weight". It may come
// from PEFT, torch.compile, data-parallel training, Kohya's scripts or diffusers. Other names stay as they are.
std::string plain_adapter_name(std::string name);

// Kohya's scripts write underscores for dots, and a prefix: "lora_te_model_layers_0_self_attn_q_proj.alpha". The name
// with the module that is meant in front; a name with another module, or with dots, stays as it is.
std::string unflattened_name(const std::string& name, std::span<const std::string> modules);
// Whether a name's module has neither dots nor the form of a name that PEFT writes.
bool is_flat_name(const std::string& name);

}  // namespace millrace::model
