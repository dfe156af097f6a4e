#pragma once

#include <optional>

#include "runtime/rank_config.h"
#include "runtime/rank_options.h"

// Ranks that a launcher of MPI, such as mpirun, has started with one command line. Rank 0 goes on with the command; the
// others do what it says. MPI lasts as long as a process, so it is joined once, before the command begins, and left
// once, when it has ended. A job that has lost a rank ends: nothing is started anew.

namespace millrace::runtime {

// Joins the others, where `ranks` are over MPI and it has not been done. Nothing: go on with the command. The exit
// code, where this is not rank 0: it has followed to the end. Throws LoadError on all ranks where no libmillrace_mpi.so
// is there, and on rank 0 where the number of processes is not that of ranks, where hosts are several and no trusted
// network is named, or where another rank has another build or other options: it names the rank and what differs.
std::optional<int> join_mpi(const RankConfig& ranks, const RankOptions& options = {});
// The last thing before main() returns, which gets the exit code that it would return, and returns the one that it
// should: 70 where a rank was lost. Does not return then.
int leave_mpi(int code) noexcept;

}  // namespace millrace::runtime
