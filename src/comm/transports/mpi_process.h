#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/transports/mpi.h"
#include "comm/transports/mpi_life.h"

namespace millrace::comm {

// What the groups of a rank of a job have in common. Any thread, but for what meet() of the job sets.
struct MpiProcess {
  const MpiCalls& calls;
  const int rank, ranks, stages;
  std::mutex mutex{};  // held while the library is called
  MpiPublished published{};
  std::vector<MpiRanks::Member> members{};  // by rank; none until they have met
  std::unique_ptr<MpiLife> life{};          // null until they have met

  std::string name_of(int of) const;
  bool is_lost() const noexcept { return life != nullptr && life->is_lost(); }
  Error error_of(int error);
  // The job is lost: by an error of the library; because rank `other` is late, 0 where it is not known which.
  Error fail(int error);
  Error late(int other, Communicator::Timeout timeout);

 private:
  Error lose(Error why);
};

}  // namespace millrace::comm
