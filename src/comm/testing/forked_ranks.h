#pragma once

// For tests: the ranks of a group, each a process.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <utility>
#include <vector>

#include "comm/transports/shm.h"

namespace millrace::comm {

// Children are killed at the latest when this goes.
class ForkedRanks {
 public:
  // Runs body(communicator) as each of the ranks but 0, in children. The calling process joins as rank 0: leader().
  template <typename Body>
  ForkedRanks(const ShmSegment::Sizes& sizes, const Body& body) {
    const ShmSegment segment = ShmSegment::make(sizes).or_throw();
    for (int rank = 1; rank < sizes.stage_ranks * sizes.stages; ++rank) {
      const pid_t child = fork();
      if (child != 0) {
        children_.push_back(child);
        continue;
      }
      auto joined = join_shm(segment.descriptor(), rank, std::chrono::seconds(30));
      if (joined) body(**joined);
      _exit(!joined || testing::Test::HasFailure() ? 1 : 0);
    }
    leader_ = join_shm(segment.descriptor(), 0, std::chrono::seconds(30)).or_throw();
  }
  ~ForkedRanks() {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (children_[i] > 0) kill(children_[i], SIGKILL), wait(static_cast<int>(i) + 1);
    }
  }
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  Communicator& leader() { return *leader_; }
  pid_t process(int rank) const { return children_[static_cast<std::size_t>(rank) - 1]; }
  // What waitpid() says of it. Once for each rank.
  int wait(int rank) {
    int status = -1;
    waitpid(std::exchange(children_[static_cast<std::size_t>(rank) - 1], 0), &status, 0);
    return status;
  }
  // All ended well.
  void expect_success() {
    for (int rank = 1; rank <= static_cast<int>(children_.size()); ++rank) EXPECT_EQ(wait(rank), 0) << rank;
  }

 private:
  std::vector<pid_t> children_;
  std::unique_ptr<Communicator> leader_;
};

}  // namespace millrace::comm
