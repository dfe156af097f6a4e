#pragma once

#include <memory>

#include "comm/mpi_library/mpi_calls.h"
#include "comm/transports/mpi.h"

namespace millrace::comm {

// Once in a process, which a launcher has started; without one it is the only rank. Waits for all others. kUnsupported
// where the library is not fit for that, kInvalidArgument where processes are of different versions of millrace or were
// told of different numbers of stages.
Result<std::shared_ptr<MpiRanks>> join_mpi(const MpiCalls& calls, int stages, Communicator::Timeout timeout);

}  // namespace millrace::comm
