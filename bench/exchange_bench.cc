// One exchange between ranks of a host: each writes its slice of a block, publishes it, awaits the others', and reads
// every cache line of the block. Run it on a quiet machine with a processor for each rank.

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>

#include "comm/transports/shm.h"

namespace millrace::comm {
namespace {

constexpr std::chrono::seconds kTimeout{30};
constexpr std::size_t kLine = 64;

// Blocks lie in two places by turns: a rank writes one while others may still read the other.
class Exchanges {
 public:
  Exchanges(Communicator& group, std::size_t block_bytes)
      : group_(group), block_(block_bytes), slice_(block_bytes / static_cast<std::size_t>(group.ranks())) {}

  // False: the group has ended.
  bool run() {
    std::byte* block = group_.memory().data() + (++count_ % 2) * block_;
    std::memset(block + slice_ * static_cast<std::size_t>(group_.rank()), static_cast<int>(count_), slice_);
    if (!group_.await(group_.publish(), kTimeout)) return false;
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < block_; at += kLine) {
      std::uint64_t value = 0;
      std::memcpy(&value, block + at, sizeof(value));
      sum += value;
    }
    benchmark::DoNotOptimize(sum);
    return true;
  }

 private:
  Communicator& group_;
  const std::size_t block_, slice_;
  std::uint64_t count_ = 0;
};

// Argument: bytes of a block, of two ranks.
void BM_ShmExchange(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const ShmSegment segment = ShmSegment::make({.stage_ranks = 2, .memory = 2 * bytes}).or_throw();
  const pid_t child = fork();
  if (child == 0) {
    auto group = join_shm(segment.descriptor(), 1, kTimeout).or_throw();
    for (Exchanges exchanges(*group, bytes); exchanges.run();) {
    }
    _exit(0);
  }
  {
    auto group = join_shm(segment.descriptor(), 0, kTimeout).or_throw();
    Exchanges exchanges(*group, bytes);
    for (auto _ : state) exchanges.run();
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_ShmExchange)->Arg(64)->Arg(2048)->Arg(8192)->Arg(32768)->UseRealTime();

}  // namespace
}  // namespace millrace::comm
