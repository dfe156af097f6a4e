#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/sequence_snapshot.h"

namespace millrace::engine {

// Serialize a snapshot: a header with version of the format, length and checksum, then the fields. Bytes are for
// processes of the same build; those of another version are rejected.
std::vector<std::byte> to_bytes(const SequenceSnapshot& snapshot);
std::vector<std::byte> to_bytes(const SessionSnapshot& snapshot);

// kInvalidArgument naming "snapshot" if the bytes are no snapshot of that kind, of another version, truncated or
// damaged. The message has both versions or both lengths. The values of the fields are checked at the import.
Result<SequenceSnapshot> sequence_from_bytes(std::span<const std::byte> bytes);
Result<SessionSnapshot> session_from_bytes(std::span<const std::byte> bytes);

}  // namespace millrace::engine
