#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/sequence_snapshot.h"

namespace millrace::engine {

// A snapshot as bytes that can be kept or sent: a head with the version of the format, the length and a checksum, then
// the fields. Of one build for the same build: another version is an error, nothing is converted.
std::vector<std::byte> to_bytes(const SequenceSnapshot& snapshot);
std::vector<std::byte> to_bytes(const SessionSnapshot& snapshot);

// kInvalidArgument, param "snapshot", for bytes that are no snapshot of that kind, of another version (both are named),
// truncated (both lengths are named) or damaged. What the fields say is checked where they are imported.
Result<SequenceSnapshot> sequence_from_bytes(std::span<const std::byte> bytes);
Result<SessionSnapshot> session_from_bytes(std::span<const std::byte> bytes);

}  // namespace millrace::engine
