#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <vector>

#include "comm/replaceable.h"
#include "model/model_spec.h"
#include "runtime/model_config.h"
#include "runtime/mpi_job.h"

namespace millrace::runtime {

// The processes behind rank 0 that share a model with it: on this host, each this program anew, which end with it, and
// are killed if they do not within a few seconds; or over MPI those that a launcher has started, which have
// further models too (mpi_ranks.h). Must outlive what uses the communicator.
class RankGroup {
 public:
  // Starts them; they load the model of `config` at once. `config` must be resolved: what is to be found out ("auto")
  // they must not find out each for itself. Throws LoadError.
  static std::unique_ptr<RankGroup> start(const ModelConfig& config, const model::ModelSpec& spec);
  ~RankGroup();
  // Ends those that still run, whatever they do, and starts all anew. The communicator stays the same. Throws
  // LoadError; over MPI always.
  void restart();
  // The model cannot be used, for that reason: over MPI that ends the job.
  void give_up(const Error& why) noexcept;
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  std::shared_ptr<comm::Communicator> communicator() const noexcept { return communicator_; }
  const std::vector<pid_t>& processes() const noexcept { return processes_; }  // that it started, of ranks from 1 on

 private:
  RankGroup(const ModelConfig& config, std::size_t memory) : config_(config), memory_bytes_(memory) {}
  std::unique_ptr<comm::Communicator> spawn();
  void end(std::chrono::nanoseconds within) noexcept;

  ModelConfig config_;
  std::size_t memory_bytes_;
  std::unique_ptr<ModelOverMpi> over_mpi_;  // null where it started the processes
  std::shared_ptr<comm::Communicator> communicator_;
  std::shared_ptr<comm::ReplaceableCommunicator> spawned_;  // null over MPI
  std::vector<pid_t> processes_;
};

// How a rank's process is called: PROGRAM kFollowRank DESCRIPTOR RANK; see follow_rank().
inline constexpr const char* kFollowRank = "follow-rank";

}  // namespace millrace::runtime
