#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::runtime {

inline constexpr int kMaxRanks = 64;

// How ranks share a model, processes of which each computes a part of every layer. Errors name a field by its flag.
struct RankConfig {
  int tensor_parallel_size = 1;                // ranks, [1, kMaxRanks] and at most the model's query heads
  std::vector<double> tensor_parallel_shares;  // of each rank its part, in any unit; empty: equal ones
  bool allow_oversubscription = false;         // more threads of all ranks than this process may use processors
  // How ranks are started and reach each other: one of executor_backends(). "shm": by rank 0, on its host. "mpi": by a
  // launcher of MPI, on any hosts.
  std::string distributed_executor_backend = "shm";
  std::string trusted_network;  // with "mpi" the network interface that ranks of several hosts use

  bool over_mpi() const noexcept { return distributed_executor_backend == "mpi"; }
  Result<void> validate() const;
  // One for each rank.
  std::vector<double> shares() const;
  // Worker threads of each rank, where `threads` are asked for; 0: as many as there are processors for.
  // kInvalidArgument naming tensor-parallel-size where processors are fewer, and why that matters.
  Result<int> threads_of_rank(int threads) const;
  // The same over MPI, for the rank that this process is; `neighbours`: ranks on its host, itself included.
  Result<int> threads_over_mpi(int threads, int neighbours) const;
};

// The values of distributed_executor_backend.
const std::vector<std::string>& executor_backends();

}  // namespace millrace::runtime
