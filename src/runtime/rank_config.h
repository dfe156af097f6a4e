#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/shard.h"

namespace millrace::runtime {

inline constexpr int kMaxRanks = 64;

// How ranks share a model, processes of which each computes a part of every layer, of some layers, or of both. Errors
// name a field by its flag.
struct RankConfig {
  int tensor_parallel_size = 1;                  // ranks that share each layer; at most the model's query heads
  std::vector<double> tensor_parallel_shares;    // of each of these its part, in any unit; empty: equal ones
  int pipeline_parallel_size = 1;                // stages, each of some layers; at most as many as the model has layers
  std::vector<double> pipeline_parallel_shares;  // of each of these its speed, in any unit; empty: equal ones
  bool allow_oversubscription = false;           // more threads of all ranks than this process may use processors
  // How ranks are started and reach each other: one of executor_backends(). "shm": by rank 0, on its host. "mpi": by a
  // launcher of MPI, on any hosts.
  std::string distributed_executor_backend = "shm";
  std::string trusted_network;  // with "mpi" the network interface that ranks of several hosts use

  bool over_mpi() const noexcept { return distributed_executor_backend == "mpi"; }
  Result<void> validate() const;
  int ranks() const noexcept { return tensor_parallel_size * pipeline_parallel_size; }  // [1, kMaxRanks]
  // One for each rank of a stage, and for each stage.
  std::vector<double> shares() const;
  std::vector<double> stage_shares() const;
  Result<model::Shards> shards(const model::ModelSpec& spec) const;
  // For keys of what is kept: equal where each rank has the same part.
  std::string text() const;
  // Worker threads of each rank, where `threads` are asked for; 0: as many as there are processors for.
  // kInvalidArgument naming tensor-parallel-size where processors are fewer, and why that matters.
  Result<int> threads_of_rank(int threads) const;
  // The same over MPI, for the rank that this process is; `neighbours`: ranks on its host, itself included.
  Result<int> threads_over_mpi(int threads, int neighbours) const;
};

// The values of distributed_executor_backend.
const std::vector<std::string>& executor_backends();

}  // namespace millrace::runtime
