#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "comm/mpi_library/mpi_calls.h"

namespace millrace::comm {

// The places where libmillrace_mpi.so is looked for, the first that is there counts: the file that the environment
// variable MILLRACE_MPI_LIBRARY names, and no other then; the folder of the program; ../lib/millrace, ../lib and its
// folder for this machine's architecture beside that.
std::vector<std::string> mpi_library_places();

// Loads it, and with it the library of MPI that it wants. It stays for good. kUnsupported naming the places where none
// is, or what it misses.
Result<const MpiCalls*> load_mpi();

}  // namespace millrace::comm
