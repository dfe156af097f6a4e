#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "model/batch_input.h"
#include "model/ranks/stage_link.h"
#include "model/shard.h"

namespace millrace::model {

class RankLeader;

// Shows a hook the hidden states that it wants. Where a model's layers are in several stages, those of other stages
// come to rank 0 by way of the host, and the hook sees all when the step is finished: others may have begun meanwhile.
// Throws LoadError. One thread.
class StageStates {
 public:
  // This stage's states of a step that is not finished.
  using Kept = std::vector<std::vector<std::byte>>;

  // The arguments must outlive it.
  StageStates(const RankShards& shards, const StageLink& link, backend::Backend& backend)
      : shards_(shards), link_(link), backend_(backend) {}

  // Which rank of a model of so many layers has each state that the hook wants; empty: the hook sees them at once.
  std::vector<int> ranks(const HiddenStateHook* hook, std::int64_t layers) const;
  // The residual before that layer, or after the last, of a step under way.
  void pass(const BatchInput& input, std::int64_t layer, const backend::DeviceView& residual, Kept& kept);
  // Rank 0 of several stages: shows the hook all states [T, E] of the step, by RankLeader::next_rows().
  void finish(const BatchInput& input, std::int64_t layers, std::int64_t width, const Kept& kept, RankLeader& leader,
              std::size_t step);

 private:
  const RankShards& shards_;
  const StageLink& link_;
  backend::Backend& backend_;
  backend::DeviceBuffer memory_;  // of all states of a step
};

}  // namespace millrace::model
