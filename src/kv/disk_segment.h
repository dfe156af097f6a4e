#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"
#include "kv/page_key.h"

namespace millrace::kv {

// A segment is a file that is only appended to: a header, then records of one size, each a header and a page. Both have
// checksums, so whatever a crash or a bad disk left is either the page that was put there or nothing. Integers are in
// the machine's byte order: elsewhere the magic does not fit.
//   file header, 64 bytes:   magic, model key, page bytes, zeros, checksum of the 56 bytes before
//   record header, 64 bytes: magic, key[32], page bytes, checksum of the page, checksum of the 56 bytes before and of
//                            where in the file the record is
inline constexpr std::size_t kRecordHeaderBytes = 64, kSegmentHeaderBytes = 64;

struct SegmentHeader {
  std::uint64_t model_key = 0, page_bytes = 0;
  bool operator==(const SegmentHeader&) const = default;
};

struct DiskPage {
  PageKey key;
  std::uint64_t offset = 0;  // of its record
};

inline std::uint64_t record_bytes(std::size_t page_bytes) noexcept { return kRecordHeaderBytes + page_bytes; }

Result<void> append_segment_header(WritableFile& file, const SegmentHeader& header);
Result<void> append_record(WritableFile& file, std::uint64_t offset, const PageKey& key,
                           std::span<const std::byte> page);

std::optional<SegmentHeader> read_segment_header(const RandomAccessFile& file);
// The records with whole headers; a damaged one is left out, and so is a torn end.
std::vector<DiskPage> read_record_headers(const RandomAccessFile& file, std::size_t page_bytes);
// The page, if the record at `offset` is that of `key` and undamaged.
bool read_record(const RandomAccessFile& file, std::uint64_t offset, const PageKey& key, std::span<std::byte> page);

}  // namespace millrace::kv
