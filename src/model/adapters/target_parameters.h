#pragma once

#include <span>
#include <string>

#include "checkpoint/checkpoint.h"

namespace millrace::model {

// PEFT also adapts parameters that are no weights of linear layers (`target_parameters`): the matrices of all experts
// in one. It calls their tensors by the module alone, "mlp.experts.lora_A.weight", with ".base_layer" in front for each
// parameter of the module that comes later. Gives them the parameter's name: "mlp.experts.gate_up_proj.lora_A.weight".
// A tensor of which `targets` does not tell the parameter keeps its name.
void name_parameters(checkpoint::Checkpoint& tensors, std::span<const std::string> targets);

// Whether a target of the list is that parameter: "model.layers.0.mlp.experts.down_proj".
bool is_target_parameter(std::span<const std::string> targets, const std::string& parameter);

}  // namespace millrace::model
