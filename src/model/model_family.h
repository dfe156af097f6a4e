#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config_view.h"
#include "model/config/model_config.h"
#include "model/config/shared_config.h"
#include "model/model_spec.h"

namespace millrace::model {

// A model family: the architectures it answers to, what its class takes for granted, and a function from a checkpoint's
// configuration to its spec. What all families share is read before (shared_config.h); spec() asks the view for the
// fields of its own, which it lists: where such a field is there and says something, no other family loads over it. One
// file each in families/, collected by CMake.
struct ModelFamily {
  std::string_view name;
  std::vector<std::string_view> hf;    // "LlamaForCausalLM"
  std::vector<std::string_view> gguf;  // general.architecture
  ConfigDefaults defaults = {};
  std::vector<checkpoint::ConfigField> fields = {};  // of its own
  ModelSpec (*spec)(checkpoint::ConfigView& view, const ModelConfig& config,
                    checkpoint::Checkpoint::Container container);
};
std::span<const ModelFamily> all_families();  // generated

// Null: no family answers to it.
const ModelFamily* find_family(std::string_view architecture, bool gguf);

// Every field that some family reads. One that is there, says something and was not asked for stops the load.
std::span<const checkpoint::ConfigField> known_fields();

}  // namespace millrace::model
