#pragma once

#include <sys/types.h>

#include <memory>
#include <span>

#include "comm/communicator.h"

namespace millrace::comm {

// A segment of memory of a group of processes on one host. It has no name, so nothing is left when all of them have
// ended, however that was.
class ShmSegment {
 public:
  // For so many stages of so many ranks, with so many bytes of Communicator::memory() and of each kind of messages
  // under way. The memory is there: kResourceExhausted if not. The calling process will be rank 0.
  struct Sizes {
    int stage_ranks = 1, stages = 1;
    std::size_t memory = 0, commands = std::size_t{4} << 20;
    std::size_t answers = std::size_t{256} << 10;  // of each rank
    std::size_t passed = std::size_t{1} << 20;     // of each rank, where there are several stages
  };
  static Result<ShmSegment> make(const Sizes& sizes);
  ~ShmSegment();
  ShmSegment(ShmSegment&& other) noexcept;
  ShmSegment& operator=(ShmSegment&& other) noexcept = delete;

  // A descriptor for join_shm(), which processes inherit by fork() but not by exec().
  int descriptor() const noexcept { return descriptor_; }

 private:
  explicit ShmSegment(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

// Joins the group of a segment as rank `rank`, and waits for the other ranks, no longer than `timeout`. The descriptor
// may be closed afterwards. kBadFile where it is no segment of this version of millrace, kInvalidArgument where the
// rank is none of it or has been taken. `started`: for rank 0 the processes of the others, in their order, where it
// knows them: that one of them has ended it notices at once, also before that one joins.
Result<std::unique_ptr<Communicator>> join_shm(int descriptor, int rank, Communicator::Timeout timeout,
                                               std::span<const pid_t> started = {});

}  // namespace millrace::comm
