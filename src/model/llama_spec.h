#pragma once

#include <string>
#include <string_view>

#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"
#include "model/model_family.h"

namespace millrace::model {

// What Llama's descendants share, layers of attention and a gated MLP; families start here and change what differs.
ModelSpec llama_spec(const ModelConfig& config, checkpoint::Checkpoint::Container container);
// For families that read no field of their own.
ModelSpec llama_spec(checkpoint::ConfigView& view, const ModelConfig& config,
                     checkpoint::Checkpoint::Container container);

// The layer of such a model, with the names that follow `prefix`: "model.layers.{}.". An MTP layer is one beside them.
void name_llama_layer(LayerSpec& layer, const std::string& prefix);

// "gelu_new" -> kGeluTanh ...; throws LoadError naming an unknown one.
backend::Activation parse_activation(std::string_view name);

}  // namespace millrace::model
