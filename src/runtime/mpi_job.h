#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/error.h"
#include "comm/transports/mpi.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

// The job of MPI that this process is a rank of, if it has joined one (mpi_ranks.h). Never destroyed: a library of MPI
// may use the group's memory up to the end.
struct MpiJob {
  std::shared_ptr<comm::MpiCommunicator> group;  // null: none
  std::atomic<bool> has_model{false};            // rank 0's
  bool has_left = false;
};
MpiJob& mpi_job();

// Ranks on this host, this one included; at least 1.
int mpi_neighbours();

// For RankGroup. The first lets the others load the model, and returns the way to them; throws LoadError where they
// have one, or where the job was not joined.
std::shared_ptr<comm::Communicator> begin_over_mpi(const ModelConfig& config, std::size_t memory_bytes);
void end_over_mpi() noexcept;  // they have none any more
void give_up_over_mpi(const Error& why) noexcept;
[[noreturn]] void refuse_restart_over_mpi();

}  // namespace millrace::runtime
