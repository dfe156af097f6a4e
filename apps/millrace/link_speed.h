#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "comm/link_speed.h"

namespace millrace::app {

// Measures how fast ranks exchange rows: "shm", two processes of this host, or "mpi", all processes that a launcher of
// MPI has started, of which rank 0 gets the result and the others nothing. Throws LoadError.
std::optional<comm::LinkSpeed> measure_link_speed(const std::string& backend);

nlohmann::ordered_json json_of(const comm::LinkSpeed& speed, const std::string& backend);
// Reads the latency and the rate from a file that json_of() made, or one written by hand for a network to come. Throws
// LoadError (kBadFile) naming file and field.
comm::LinkSpeed read_link_speed(const std::string& path);

}  // namespace millrace::app
