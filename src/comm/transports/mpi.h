#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/mpi_library/mpi_calls.h"

namespace millrace::comm {

// The ranks of a job that a launcher of MPI, such as mpirun, has started: one in a process, for as long as it lives.
// Once a rank is lost, all calls fail with the same error. As of Communicator; calls of the library never overlap.
class MpiCommunicator : public Communicator {
 public:
  struct Member {
    std::string host;
    int process = 0;
  };
  virtual const std::vector<Member>& members() const noexcept = 0;  // by rank
  // "rank 1 (process 17 on host b)"
  virtual std::string name_of(int rank) const = 0;

  // What memory() is from now on: of each rank for itself, zeroed. On all ranks, while no block is under way. At most
  // 2 GiB. kResourceExhausted if the system has too little.
  virtual Result<void> allocate(std::size_t bytes) = 0;

  // Why the group is of no more use, if so.
  virtual std::optional<Error> lost() const = 0;
  // Others: tells the leader why this rank cannot go on; the leader loses the group with that error, its code included.
  // Leader: the group is lost.
  virtual void lose(const Error& why) = 0;
  // Called once, by any thread, when the group is lost, which a thread of its own notices within four seconds while
  // no call waits. Others than the leader lose it when the leader is gone, and notice that within ten.
  virtual void on_lost(std::function<void(const Error&)> call) = 0;

  // The last call of all ranks, when the leader has told them in some way that it is the time. Must be called before
  // the process ends, but not after the group was lost.
  virtual Result<void> leave(Timeout timeout) = 0;
};

// Once in a process, which a launcher has started; without one it is the only rank. Waits for all others. kUnsupported
// where the library is not fit for that, kInvalidArgument where processes are of different versions of millrace or were
// told of different numbers of stages.
Result<std::shared_ptr<MpiCommunicator>> join_mpi(const MpiCalls& calls, int stages, Communicator::Timeout timeout);

}  // namespace millrace::comm
