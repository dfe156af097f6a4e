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

// Exchanges between the ranks of a stage, each rank's part as large. They lie in two places by turns: a rank writes one
// while others may still read the other.
class Exchanges {
 public:
  explicit Exchanges(Communicator& group) : group_(group), ends_(static_cast<std::size_t>(group.stage_ranks())) {}

  // So many of so many bytes, one behind the other. Returns the mean time of one, in microseconds.
  Result<double> run(std::size_t bytes, int times) {
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) ends_[rank] = bytes * (rank + 1) / ends_.size();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < times; ++i) {
      if (auto met = exchange(); !met) return met.error();
    }
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / times;
  }

 private:
  Result<void> exchange() {
    const std::size_t first = (++count_ % 2) * kMuch;
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

  Communicator& group_;
  std::vector<std::size_t> ends_;
  std::vector<std::byte> read_ = std::vector<std::byte>(kMuch);
  std::uint64_t count_ = 0;
};

double median(std::vector<double>& times) {
  std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
  return times[times.size() / 2];
}

}  // namespace

// All sizes by turns, so that what else runs on the machine slows all of them. A look at the clock takes a tenth as
// long as a fast exchange: small ones are measured ten at a time.
Result<LinkSpeed> measure_link_speed(Communicator& group) {
  constexpr int kRounds = 300, kWarmUp = 30;
  struct Size {
    std::size_t bytes;
    int times;
    std::vector<double> took = {};
  } sizes[] = {{kLittle, 10}, {kMiddle, 10}, {kMuch, 1}};
  Exchanges exchanges(group);
  for (int round = 0; round < kWarmUp + kRounds; ++round) {
    for (Size& size : sizes) {
      const auto took = exchanges.run(size.bytes, size.times);
      if (!took) return took.error();
      if (round >= kWarmUp) size.took.push_back(*took);
    }
  }
  const double latency_us = median(sizes[0].took), further_us = median(sizes[2].took) - latency_us;
  if (further_us <= 0.0) {
    return make_error(ErrorCode::kUnavailable, "link-speed",
                      "{} bytes took no longer than {}: other programs disturb the measurement, try again", kMuch,
                      kLittle);
  }
  return LinkSpeed{.latency_us = latency_us,
                   .gb_per_s = static_cast<double>(kMuch - kLittle) / further_us * 1e-3,
                   .exchange_8k_us = median(sizes[1].took)};
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
