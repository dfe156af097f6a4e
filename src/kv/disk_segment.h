#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"
#include "kv/page_key.h"

namespace millrace::kv {

// A segment is a file that is only appended to: a header, then records of equal size, each a header and a page. Header
// and page have checksums, so whatever a crash or a bad disk leaves is either the page that was written there or
// nothing. Integers are in the machine's byte order; on a machine of the other order the magic does not fit.
//   file header, 64 bytes:   magic, model key, page bytes, zeros, checksum of the 56 bytes before
//   record header, 64 bytes: magic, key[32], page bytes, checksum of the page, checksum of the 56 bytes before and of
// the record's offset in the file
inline constexpr std::size_t kRecordHeaderBytes = 64, kSegmentHeaderBytes = 64;

struct SegmentHeader {
  std::uint64_t model_key = 0, page_bytes = 0;
  bool operator==(const SegmentHeader&) const = default;
};

struct DiskPage {
  PageKey key;
  std::uint64_t offset = 0;  // of its record in the segment, in bytes
};

inline std::uint64_t record_bytes(std::size_t page_bytes) noexcept { return kRecordHeaderBytes + page_bytes; }

// The writers return the error of the file.
Result<void> append_segment_header(WritableFile& file, const SegmentHeader& header);
Result<void> append_record(WritableFile& file, std::uint64_t offset, const PageKey& key,
                           std::span<const std::byte> page);

// The segment's header; nothing if it is damaged or cannot be read.
std::optional<SegmentHeader> read_segment_header(const RandomAccessFile& file);
// The records whose headers are whole, in order of the file; damaged ones and a torn end are left out.
std::vector<DiskPage> read_record_headers(const RandomAccessFile& file, std::size_t page_bytes);
// Reads a page of page.size() bytes. False if the record at `offset` is damaged or has another key.
bool read_record(const RandomAccessFile& file, std::uint64_t offset, const PageKey& key, std::span<std::byte> page);

}  // namespace millrace::kv
