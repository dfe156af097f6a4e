#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kv/disk_segment.h"

namespace millrace::kv {

// What a closed disk tier knew of one segment, so that opening it need not read all record headers. Only a hint: a
// segment whose size differs is read anew, and every page is checked when it is read.
struct IndexedSegment {
  std::uint64_t number = 0, bytes = 0;
  std::vector<DiskPage> pages;
};

// Serialises the index file. `segments` are in order of use, the least recently used first.
std::string encode_index(const SegmentHeader& header, std::span<const IndexedSegment> segments);
// Parses an index file; nothing if it is damaged or its header differs from `header`.
std::optional<std::vector<IndexedSegment>> decode_index(const SegmentHeader& header, std::string_view text);

}  // namespace millrace::kv
