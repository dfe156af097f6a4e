#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"

namespace millrace::model {

class RankLeader;
class WeightLoader;
struct RankShards;

// Passes rows of the step of that number on to the next stage.
void pass_rows(comm::Communicator& group, std::span<const std::byte> rows, std::uint64_t step, std::int64_t n_rows);
// The rows, of so many bytes, that the stage before has computed of that step; waits for them. Throws LoadError
// (kUnavailable) where a rank has ended, or other rows come.
std::vector<std::byte> take_rows(comm::Communicator& group, std::size_t bytes, std::uint64_t step);

// A rank's ways to the stages before and behind its own, on the host: a copy each. Throws LoadError (kUnavailable)
// where a rank has ended, or sends other rows.
class StageLink {
 public:
  // The arguments must outlive it. Without a group there is one stage, and nothing may be called.
  StageLink(comm::Communicator* group, backend::Backend& backend) : group_(group), backend_(backend) {}

  // Rows [T, E] that the stage before has computed of the step of that number, into `rows`; waits for them.
  void take(const backend::DeviceView& rows, std::uint64_t step) const;
  // The same rows for the next stage. They must have been computed.
  void pass(const backend::DeviceView& rows, std::uint64_t step) const;
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
