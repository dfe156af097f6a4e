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
void run_ranks(int ranks, std::size_t memory_bytes, const Body& body) {
  const ShmSegment segment = ShmSegment::make({.stage_ranks = ranks, .memory = memory_bytes}).or_throw();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&segment, &body, rank] {
      body(std::shared_ptr<Communicator>(join_shm(segment.descriptor(), rank, std::chrono::seconds(30)).or_throw()));
    });
  }
}

}  // namespace millrace::comm
