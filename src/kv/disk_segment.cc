#include "kv/disk_segment.h"

#include <array>
#include <cstring>

#include "base/checksum.h"

namespace millrace::kv {
namespace {

constexpr std::uint64_t kSegmentMagic = 0x327367652d72706d, kRecordMagic = 0x3265676170727670;
using HeaderBytes = std::array<std::byte, 64>;
static_assert(sizeof(HeaderBytes) == kRecordHeaderBytes && sizeof(HeaderBytes) == kSegmentHeaderBytes);

template <typename T>
void put(HeaderBytes& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}
template <typename T>
T get(const HeaderBytes& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

constexpr std::size_t kChecksumAt = 56;
std::uint64_t header_checksum(const HeaderBytes& bytes, std::uint64_t offset) {
  return checksum(std::span(bytes).first(kChecksumAt), offset);
}

struct Record {
  PageKey key;
  std::uint64_t page_checksum = 0;
};

std::optional<Record> read_record_header(const RandomAccessFile& file, std::uint64_t offset, std::size_t page_bytes) {
  HeaderBytes bytes;
  if (!file.read(offset, bytes)) return std::nullopt;
  if (get<std::uint64_t>(bytes, 0) != kRecordMagic || get<std::uint64_t>(bytes, 40) != page_bytes ||
      get<std::uint64_t>(bytes, kChecksumAt) != header_checksum(bytes, offset)) {
    return std::nullopt;
  }
  return Record{get<PageKey>(bytes, 8), get<std::uint64_t>(bytes, 48)};
}

}  // namespace

Result<void> append_segment_header(WritableFile& file, const SegmentHeader& header) {
  HeaderBytes bytes{};
  put(bytes, 0, kSegmentMagic);
  put(bytes, 8, header.model_key);
  put(bytes, 16, header.page_bytes);
  put(bytes, kChecksumAt, header_checksum(bytes, 0));
  return file.append(bytes);
}

Result<void> append_record(WritableFile& file, std::uint64_t offset, const PageKey& key,
                           std::span<const std::byte> page) {
  HeaderBytes bytes{};
  put(bytes, 0, kRecordMagic);
  put(bytes, 8, key);
  put(bytes, 40, static_cast<std::uint64_t>(page.size()));
  put(bytes, 48, checksum(page));
  put(bytes, kChecksumAt, header_checksum(bytes, offset));
  if (auto written = file.append(bytes); !written) return written;
  return file.append(page);
}

std::optional<SegmentHeader> read_segment_header(const RandomAccessFile& file) {
  HeaderBytes bytes;
  if (file.size() < bytes.size() || !file.read(0, bytes)) return std::nullopt;
  if (get<std::uint64_t>(bytes, 0) != kSegmentMagic ||
      get<std::uint64_t>(bytes, kChecksumAt) != header_checksum(bytes, 0)) {
    return std::nullopt;
  }
  return SegmentHeader{get<std::uint64_t>(bytes, 8), get<std::uint64_t>(bytes, 16)};
}

std::vector<DiskPage> read_record_headers(const RandomAccessFile& file, std::size_t page_bytes) {
  std::vector<DiskPage> pages;
  if (page_bytes > file.size()) return pages;
  const std::uint64_t stride = record_bytes(page_bytes);
  for (std::uint64_t at = kSegmentHeaderBytes; at <= file.size() && file.size() - at >= stride; at += stride) {
    if (const auto record = read_record_header(file, at, page_bytes)) pages.push_back({record->key, at});
  }
  return pages;
}

bool read_record(const RandomAccessFile& file, std::uint64_t offset, const PageKey& key, std::span<std::byte> page) {
  const auto record = read_record_header(file, offset, page.size());
  if (!record || record->key != key) return false;
  if (!file.read(offset + kRecordHeaderBytes, page)) return false;
  return checksum(page) == record->page_checksum;
}

}  // namespace millrace::kv
