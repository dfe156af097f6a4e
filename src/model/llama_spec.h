#pragma once

#include <string>
#include <string_view>

#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"
#include "model/model_family.h"

namespace millrace::model {

// The spec of Llama and its descendants: layers of attention and a gated MLP. Families start from it and change what
// differs.
ModelSpec llama_spec(const ModelConfig& config, checkpoint::Checkpoint::Container container);
// llama_spec() for families that read no fields of their own.
ModelSpec llama_spec(checkpoint::ConfigView& view, const ModelConfig& config,
                     checkpoint::Checkpoint::Container container);

// Names the weights of a layer of such a model; `prefix` is what precedes the names: "model.layers.{}.". MTP layers use
// it with a prefix of their own.
void name_llama_layer(LayerSpec& layer, const std::string& prefix);

// Maps config.json's name to an activation: "gelu_new" to kGeluTanh. Throws LoadError naming an unknown one.
backend::Activation parse_activation(std::string_view name);

}  // namespace millrace::model
