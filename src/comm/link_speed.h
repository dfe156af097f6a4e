#pragma once

#include "base/result.h"
#include "comm/communicator.h"

namespace millrace::comm {

// How fast the ranks of a stage exchange: medians. Content is that of all ranks together.
struct LinkSpeed {
  double latency_us = 0.0;      // of an exchange of 64 bytes
  double gb_per_s = 0.0;        // of what an exchange of 256 KB has beyond that
  double exchange_8k_us = 0.0;  // of 8 KB
};

// On all ranks of the stage together, whose memory() has kLinkSpeedMemory bytes at least. Each rank writes its part of
// a block, exchanges it, and copies the others'. Takes about a second over a slow network. Errors as
// Communicator::await(), and kUnavailable where other programs disturb it so much that bytes seem to take no time.
Result<LinkSpeed> measure_link_speed(Communicator& group);
inline constexpr std::size_t kLinkSpeedMemory = std::size_t{512} << 10;

// The same between two processes of this host, the other one a child, in about 30 ms. The calling process must have no
// threads that hold locks. kUnsupported where this process may use one processor alone, as waiting for another process
// is then a matter of the system's scheduler.
Result<LinkSpeed> measure_shm_link_speed();

}  // namespace millrace::comm
