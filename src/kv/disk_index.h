#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kv/disk_segment.h"

namespace millrace::kv {

// What a closed disk tier knew of a segment, so that opening it need not read all of its headers. Only a hint: a
// segment of another size is read anew, and a page is checked when it is read.
struct IndexedSegment {
  std::uint64_t number = 0, bytes = 0;
  std::vector<DiskPage> pages;
};

// Least recently used first.
std::string encode_index(const SegmentHeader& header, std::span<const IndexedSegment> segments);
// Nothing if it is damaged or of other pages.
std::optional<std::vector<IndexedSegment>> decode_index(const SegmentHeader& header, std::string_view text);

}  // namespace millrace::kv
