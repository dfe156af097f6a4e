#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/mpi_library/mpi_calls.h"

namespace millrace::comm {

// One of the groups of a job (MpiRanks): all of its ranks, for a thread of its own in each.
class MpiGroup : public Communicator {
 public:
  // What memory() is from now on: of each rank for itself, zeroed. On all ranks, while no block is under way. At most
  // 2 GiB. kResourceExhausted if the system has too little.
  virtual Result<void> allocate(std::size_t bytes) = 0;
  // Others: where receive(), answer() or pass() would wait they fail with kCancelled from now on. Any thread.
  virtual void cancel() noexcept = 0;
  // The group becomes on this rank what it was in the beginning: what has come and was not taken is forgotten. All
  // ranks call it at about the same time, which they know from messages of another group, while no thread uses this one
  // on any rank; it may be used again once all have returned. The job is lost where that does not happen in time.
  virtual Result<void> clear(Timeout timeout) = 0;
};

// The ranks of a job that a launcher of MPI, such as mpirun, has started: one in a process, for as long as it lives.
// Once a rank is lost, all calls of all groups fail with the same error. Calls of the library never overlap. Any
// thread.
class MpiRanks {
 public:
  struct Member {
    std::string host;
    int process = 0;
  };
  virtual ~MpiRanks() = default;
  virtual int rank() const noexcept = 0;
  virtual int ranks() const noexcept = 0;
  virtual const std::vector<Member>& members() const noexcept = 0;  // by rank
  // "rank 1 (process 17 on host b)"
  virtual std::string name_of(int rank) const = 0;

  // From 0 to kMpiGroups - 1.
  virtual MpiGroup& group(int number) noexcept = 0;

  // Why the job is of no more use, if so.
  virtual std::optional<Error> lost() const = 0;
  // Others: tells the leader why this rank cannot go on; the leader loses the job with that error, its code included.
  // Leader: the job is lost.
  virtual void lose(const Error& why) = 0;
  // Called once, by any thread, when the job is lost, which a thread of its own notices within four seconds while
  // no call waits. Others than the leader lose it when the leader is gone, and notice that within ten.
  virtual void on_lost(std::function<void(const Error&)> call) = 0;

  // The last call of all ranks, when the leader has told them in some way that it is the time, and no thread uses a
  // group. Must be called before the process ends, but not after the job was lost.
  virtual Result<void> leave(Communicator::Timeout timeout) = 0;
};

}  // namespace millrace::comm
