#pragma once

#include <cstddef>

#include "backend/backend.h"
#include "comm/communicator.h"

namespace millrace::model {

class RankLeader;
class WeightLoader;
struct RankShards;

// A rank's ways to the stages before and behind its own, on the host: a copy each. Throws LoadError (kUnavailable)
// where a rank has ended, or sends other rows.
class StageLink {
 public:
  // The arguments must outlive it. Without a group there is one stage, and nothing may be called.
  StageLink(comm::Communicator* group, backend::Backend& backend) : group_(group), backend_(backend) {}

  // Rows [T, E] that the stage before has computed, into `rows`; waits for them.
  void take(const backend::DeviceView& rows) const;
  // The same rows for the next stage. They must have been computed.
  void pass(const backend::DeviceView& rows) const;
  // Rows for rank 0, from the first rank of a stage: others do nothing.
  void answer(const backend::DeviceView& rows) const;

 private:
  comm::Communicator* group_;
  backend::Backend& backend_;
};

// Rank 0: the next rows that the last stage has computed of a step (RankLeader::next_result()).
void take_result(RankLeader& leader, std::size_t step, backend::Backend& backend, const backend::DeviceView& rows);

// Counts what other stages have of the checkpoint as used.
void mark_used_elsewhere(WeightLoader& loader, const RankShards& shards);

}  // namespace millrace::model
