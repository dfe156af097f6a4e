#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "comm/transports/shm.h"

namespace millrace::comm {

// For tests: runs body(communicator) as each of the ranks, on threads of this process over shared memory of their own.
// Returns when all have ended.
template <typename Body>
void run_ranks(const ShmSegment::Sizes& sizes, const Body& body) {
  const ShmSegment segment = ShmSegment::make(sizes).or_throw();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < sizes.stage_ranks * sizes.stages; ++rank) {
    threads.emplace_back([&segment, &body, rank] {
      body(std::shared_ptr<Communicator>(join_shm(segment.descriptor(), rank, std::chrono::seconds(30)).or_throw()));
    });
  }
}

}  // namespace millrace::comm
