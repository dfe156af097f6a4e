// Any bytes as a sequence on its way between two engines: an error, or a snapshot that is written as it was read. The
// bytes are also read without their head, whose checksum no chance would meet.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "engine/snapshot_bytes.h"
#include "engine/snapshot_fields.h"

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  static_cast<void>(engine::sequence_from_bytes(bytes));
  static_cast<void>(engine::session_from_bytes(bytes));
  ByteReader reader(bytes);
  engine::SequenceSnapshot snapshot;
  reader(snapshot);
  if (!reader.ok()) return 0;
  const auto written = engine::to_bytes(snapshot);
  const auto read = engine::sequence_from_bytes(written);
  CHECK(read.ok());
  CHECK(engine::to_bytes(*read) == written);
  return 0;
}
