#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/sequence_snapshot.h"

namespace millrace::engine {

// A snapshot as bytes to store or send: a head with format version, length and checksum, then the fields. Only the
// build that wrote the bytes reads them; another version is an error. Any thread. O(bytes).
std::vector<std::byte> to_bytes(const SequenceSnapshot& snapshot);
std::vector<std::byte> to_bytes(const SessionSnapshot& snapshot);

// kInvalidArgument, param "snapshot", for bytes that are no snapshot of that kind, of another version (both are named),
// truncated (both lengths are named) or damaged. Import checks what the fields say.
Result<SequenceSnapshot> sequence_from_bytes(std::span<const std::byte> bytes);
Result<SessionSnapshot> session_from_bytes(std::span<const std::byte> bytes);

}  // namespace millrace::engine
