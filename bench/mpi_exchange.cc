// One exchange of ranks over MPI, as bench/exchange_bench.cc measures it in shared memory. Start it by mpirun, with
// MILLRACE_MPI_LIBRARY naming libmillrace_mpi.so: mpi_exchange BYTES ROUNDS prints the median.

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "comm/transports/load_mpi.h"
#include "comm/transports/mpi.h"

int main(int argc, char** argv) {
  using namespace millrace;
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kTimeout{30};
  const auto bytes = static_cast<std::size_t>(argc > 1 ? std::atol(argv[1]) : 8192);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 20000;
  const auto group = comm::join_mpi(*comm::load_mpi().or_throw(), 1, kTimeout).or_throw();
  group->allocate(2 * bytes).or_throw();
  std::vector<std::size_t> ends;
  for (int rank = 1; rank <= group->ranks(); ++rank) {
    ends.push_back(bytes * static_cast<std::size_t>(rank) / static_cast<std::size_t>(group->ranks()));
  }
  const auto own = static_cast<std::size_t>(group->rank());
  const std::size_t begin = own == 0 ? 0 : ends[own - 1];
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const std::size_t first = static_cast<std::size_t>(round % 2) * bytes;
    const Clock::time_point start = Clock::now();
    std::memset(group->memory().data() + first + begin, round, ends[own] - begin);
    group->await(group->publish({.first = first, .ends = ends}), kTimeout).or_throw();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::sort(times);
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(rounds - 1))];
  };
  if (own == 0)
    fmt::print("{} ranks, {} bytes: median {:.2f} us, p10 {:.2f}, p90 {:.2f}\n", group->ranks(), bytes, at(0.5),
               at(0.1), at(0.9));
  group->leave(kTimeout).or_throw();
}
