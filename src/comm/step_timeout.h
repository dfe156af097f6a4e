#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "comm/communicator.h"

namespace millrace::comm {

// How long a rank is waited for that computes a step of so many rows, or part of it: one that needs longer has stopped.
inline Communicator::Timeout step_timeout(std::int64_t rows) noexcept {
  return std::max<Communicator::Timeout>(std::chrono::seconds(2), rows * std::chrono::milliseconds(60));
}

}  // namespace millrace::comm
