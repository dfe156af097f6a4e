#include "comm/link_speed.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/cpu_quota.h"
#include "comm/transports/shm.h"

namespace millrace::comm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kTimeout{30};
constexpr std::size_t kLittle = 64, kMiddle = 8192, kMuch = kLinkSpeedMemory / 2;

// Exchanges so many bytes, each rank's part as large. Blocks lie in two places by turns: a rank writes one while others
// may still read the other.
class Exchanges {
 public:
  Exchanges(Communicator& group, std::size_t bytes) : group_(group), bytes_(bytes) {
    const auto ranks = static_cast<std::size_t>(group.stage_ranks());
    for (std::size_t rank = 1; rank <= ranks; ++rank) ends_.push_back(bytes * rank / ranks);
  }
  Result<void> run() {
    const std::size_t first = (++count_ % 2) * bytes_;
    const auto own = static_cast<std::size_t>(group_.place());
    const std::size_t begin = own == 0 ? 0 : ends_[own - 1];
    std::byte* block = group_.memory().data() + first;
    std::memset(block + begin, static_cast<int>(count_), ends_[own] - begin);
    auto met = group_.await(group_.publish({.first = first, .ends = ends_}), kTimeout);
    for (std::size_t rank = 0, from = 0; met && rank < ends_.size(); from = ends_[rank++]) {
      if (rank != own) std::memcpy(read_.data() + from, block + from, ends_[rank] - from);
    }
    return met;
  }

 private:
  Communicator& group_;
  const std::size_t bytes_;
  std::vector<std::size_t> ends_;
  std::vector<std::byte> read_ = std::vector<std::byte>(bytes_);
  std::uint64_t count_ = 0;
};

// Of the mean of ten at a time: a look at the clock takes a tenth as long as a fast exchange.
Result<double> median(Communicator& group, std::size_t bytes, int rounds) {
  constexpr int kTogether = 10;
  Exchanges exchange(group, bytes);
  std::vector<double> times;
  for (int round = -rounds / 10; round < rounds; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kTogether; ++i) {
      if (auto met = exchange.run(); !met) return met.error();
    }
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    if (round >= 0) times.push_back(took.count() / kTogether);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

Result<LinkSpeed> measure_link_speed(Communicator& group) {
  const auto little = median(group, kLittle, 500);
  if (!little) return little.error();
  const auto middle = median(group, kMiddle, 500);
  if (!middle) return middle.error();
  const auto much = median(group, kMuch, 50);
  if (!much) return much.error();
  const double further_us = std::max(*much - *little, 1e-3);
  return LinkSpeed{.latency_us = *little,
                   .gb_per_s = static_cast<double>(kMuch - kLittle) / further_us * 1e-3,
                   .exchange_8k_us = *middle};
}

Result<LinkSpeed> measure_shm_link_speed() {
  if (usable_threads() < 2) {
    return make_error(ErrorCode::kUnsupported, "link-speed", "this process may use one processor: ranks need two");
  }
  const auto segment = ShmSegment::make({.stage_ranks = 2, .memory = kLinkSpeedMemory});
  if (!segment) return segment.error();
  const pid_t child = fork();
  if (child < 0) return make_error(ErrorCode::kResourceExhausted, "link-speed", "no process can be started");
  if (child == 0) {
    auto group = join_shm(segment->descriptor(), 1, kTimeout);
    _exit(group && measure_link_speed(**group) ? 0 : 1);
  }
  auto group = join_shm(segment->descriptor(), 0, kTimeout, std::span(&child, 1));
  auto speed = group ? measure_link_speed(**group) : Result<LinkSpeed>(group.error());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return speed;
}

}  // namespace millrace::comm
