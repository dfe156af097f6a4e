#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/error.h"
#include "comm/communicator.h"
#include "runtime/model_config.h"

// Ranks that a launcher of MPI, such as mpirun, has started with one command line. Rank 0 goes on with the command; the
// others do what it says. MPI lasts as long as a process, so it is joined once, before the command begins, and left
// once, when it has ended. A job that has lost a rank ends: nothing is started anew.

namespace millrace::runtime {

// Joins the others, where `ranks` are over MPI and it has not been done. Nothing: go on with the command. The exit
// code, where this is not rank 0: it has followed to the end. Throws LoadError on all ranks where no libmillrace_mpi.so
// is there, and on rank 0 where the number of processes is not that of ranks, or where hosts are several and no trusted
// network is named.
std::optional<int> join_mpi(const RankConfig& ranks);
// The last thing before main() returns, which gets the exit code that it would return, and returns the one that it
// should: 70 where a rank was lost. Does not return then.
int leave_mpi(int code) noexcept;

// Ranks on this host, this one included; at least 1.
int mpi_neighbours();

// For RankGroup. The first lets the others load the model, and returns the way to them; throws LoadError where they
// have one, or where the job was not joined.
std::shared_ptr<comm::Communicator> begin_over_mpi(const ModelConfig& config, std::size_t memory_bytes);
void end_over_mpi() noexcept;  // they have none any more
void give_up_over_mpi(const Error& why) noexcept;
[[noreturn]] void refuse_restart_over_mpi();

}  // namespace millrace::runtime
