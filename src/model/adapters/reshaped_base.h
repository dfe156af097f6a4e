#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/adapter_options.h"
#include "model/adapters/merged_checkpoint.h"

namespace millrace::model {

// A base of the shape that adapters were made for.
struct ReshapedBase {
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;
  LayerReplication layers;  // of `checkpoint`, in numbers of the base's; empty: as the base has them
  nlohmann::json config = nlohmann::json::object();  // fields of config.json that are other ones now
  std::string tokenizer;  // the adapter's directory whose tokenizer belongs to the vocabulary; empty: the base's
};

// Makes a base whose adapters have more layers or tokens one that has them too, for merging: it repeats layers as their
// layer_replication says, and appends to embedding and head the rows that their whole copies have beyond the base's.
// Any other base stays as it is. Throws LoadError: errors of open_adapter(); kUnsupported where the base is no
// safetensors, or its layers compute by their numbers; kBadFile where adapters differ in what they ask for, or name
// layers that the base has not.
ReshapedBase reshaped_base(Env& env, std::unique_ptr<checkpoint::Checkpoint> base,
                           std::span<const ScaledAdapter> adapters);

}  // namespace millrace::model
