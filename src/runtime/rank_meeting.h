#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "comm/communicator.h"
#include "runtime/rank_weights.h"

namespace millrace::runtime {

// What a rank of a group has loaded: what all of them have to have in common, and what it took.
struct RankLoaded {
  std::uint64_t weights = 0;    // LoadedModel::copied_key
  std::uint64_t all_bytes = 0;  // checkpoint::whole_key() where modification times are others than rank 0's; 0: equal
  std::uint64_t computation = 0, build = 0, precision = 0, pages = 0;
  std::uint64_t bytes_read = 0;  // from files
  RankWeights bytes = {};
  double ms = 0.0;
};

// On the others: that this one has loaded its part, or why it could not. Throws LoadError as Communicator::answer()
// does.
void report_loaded(const RankLoaded& part, comm::Communicator& group);
void report_not_loaded(const Error& why, comm::Communicator& group);

// On rank 0: waits for all, which may need much longer than this one did; logs what each has, of the model of
// `checkpoint`, whose files are read where a rank has others that may be copies. Throws LoadError naming a rank that
// has not loaded it (as it says), has ended (kUnavailable), or has loaded something else (kInvalidArgument). Returns
// the bytes of the others' weights.
RankWeights meet_ranks(const RankLoaded& own, const checkpoint::Checkpoint& checkpoint, comm::Communicator& group);

}  // namespace millrace::runtime
