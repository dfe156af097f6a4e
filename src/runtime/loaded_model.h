#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/transformer.h"
#include "model/weights/weight_summary.h"
#include "runtime/model_config.h"
#include "runtime/rank_group.h"
#include "runtime/rank_weights.h"

namespace millrace::runtime {

// A model in memory, ready to run. Each member depends only on those before it: the transformer must not outlive the
// backend. Moving it keeps all pointers valid.
struct LoadedModel {
  ModelConfig config;                // from which it was loaded
  std::unique_ptr<RankGroup> ranks;  // the others that share the model, where this is rank 0 of several
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<model::Transformer> transformer;
  std::uint64_t weights_key = 0;              // of the weights that are computed with
  std::uint64_t copied_key = 0;               // the same wherever copies of the files are
  std::uint64_t file_times = 0;               // a key of the files' modification times
  model::WeightSummary weights = {};          // how its files store them
  model::LoadQuantization quantization = {};  // what loading made of them
  double load_ms = 0.0;                       // that packing its weights took
  RankWeights of_others = {};                 // of the ranks that share it

  // See Transformer; of all ranks.
  std::size_t weight_bytes() const noexcept;
  double weight_bytes(double rows) const noexcept;
  // Worker threads of all ranks on this host, and how many ranks there are for each of these.
  int threads_on_host() const noexcept;
  double hosts() const noexcept;
};

// What config.iq_panels means for the checkpoint: "fast" or "compact". `backend` is of the kind that will compute, with
// fast panels. Throws LoadError.
std::string panels_of(const ModelConfig& config, const model::CheckpointWeights& weights, const model::ModelSpec& spec,
                      const backend::Backend& backend);

// What config.quantization and config.memory mean for the checkpoint. `backend` is any of the kind that will compute.
// Where it is "auto", a table of what it chose from goes to `table`, which may be null. Throws LoadError:
// kInvalidArgument as choose_load_quantization() does, kResourceExhausted naming memory if nothing fits.
model::LoadQuantization quantization_of(const ModelConfig& config, const checkpoint::Checkpoint& checkpoint,
                                        const model::ModelSpec& spec, const backend::Backend& backend,
                                        std::vector<std::string>* table = nullptr);

// Replaces the backend before the model is loaded, for example by one that measures times; may be empty.
using BackendWrapper = std::function<std::unique_ptr<backend::Backend>(std::unique_ptr<backend::Backend>)>;

// Opens the checkpoint at config.path and packs its weights. Takes seconds for gigabytes, and about as much memory as
// the weights. Calls `progress`, if any, on the calling thread with the share of packed weights, in [0, 1]. Throws
// LoadError; the configuration is checked before any file is read.
LoadedModel load_model(const ModelConfig& config, const std::function<void(double)>& progress = {},
                       const BackendWrapper& wrap = {});

// Starts the other ranks of the model anew, after one has ended: they have empty pages then. Throws LoadError.
void restart_ranks(const LoadedModel& loaded);

// The part of that rank of a group, not rank 0, which has loaded its own meanwhile. Throws LoadError.
LoadedModel load_rank(const ModelConfig& config, const std::shared_ptr<comm::Communicator>& group);

}  // namespace millrace::runtime
