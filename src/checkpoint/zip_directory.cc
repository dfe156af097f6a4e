#include "checkpoint/zip_directory.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "checkpoint/bounded_reader.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50, kLocatorSignature = 0x07064b50,
                        kCentralSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr std::uint64_t kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20, kCentralBytes = 46, kLocalBytes = 30;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the value is in the extra field
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint16_t kEncrypted = 1 | 1 << 6 | 1 << 13;

[[noreturn]] void fail(const std::string& file, std::string_view why) {
  throw_load_error(ErrorCode::kBadFile, file, "{}: {}", file, why);
}

[[noreturn]] void fail_entry(const std::string& file, const std::string& name, std::string_view why) {
  throw_load_error(ErrorCode::kBadFile, name, "{}: zip entry {}: {}", file, quote_name(name), why);
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, entries = 0;
};

// The records behind the directory, which say where it is, end the file.
Directory find_directory(const RandomAccessFile& file) {
  const std::string& path = file.path();
  if (file.size() < kEndBytes) fail(path, "no zip file, or truncated: it has no end record");
  const std::uint64_t end = file.size() - kEndBytes;
  BoundedReader in(file, end, kEndBytes);
  if (in.number<std::uint32_t>("end record") != kEndSignature) {
    fail(path, "no zip file, or truncated: it does not end with an end record");
  }
  std::uint64_t disks = in.number<std::uint16_t>("disk");
  disks |= in.number<std::uint16_t>("directory's disk");
  std::uint64_t here = in.number<std::uint16_t>("entries of this disk");
  Directory found{.entries = in.number<std::uint16_t>("entries")};
  found.bytes = in.number<std::uint32_t>("directory size");
  found.offset = in.number<std::uint32_t>("directory offset");
  if (in.number<std::uint16_t>("comment length") != 0) fail(path, "a zip file without a comment expected");
  std::uint64_t records = end;  // where the first record behind the directory begins
  if (end >= kLocatorBytes + kEnd64Bytes) {
    BoundedReader locator(file, end - kLocatorBytes, kLocatorBytes);
    if (locator.number<std::uint32_t>("zip64 locator") == kLocatorSignature) {
      locator.number<std::uint32_t>("disk");
      records = end - kLocatorBytes - kEnd64Bytes;
      BoundedReader in64(file, records, kEnd64Bytes);
      const bool there = locator.number<std::uint64_t>("zip64 offset") == records &&
                         in64.number<std::uint32_t>("zip64 end record") == kEnd64Signature &&
                         in64.number<std::uint64_t>("zip64 record size") == kEnd64Bytes - 12;
      if (!there) fail(path, "the zip64 end record is not in front of its locator");
      in64.number<std::uint32_t>("versions");
      disks = in64.number<std::uint32_t>("disk");
      disks |= in64.number<std::uint32_t>("directory's disk");
      here = in64.number<std::uint64_t>("entries of this disk");
      found.entries = in64.number<std::uint64_t>("entries");
      found.bytes = in64.number<std::uint64_t>("directory size");
      found.offset = in64.number<std::uint64_t>("directory offset");
    }
  }
  if (disks != 0 || here != found.entries) fail(path, "a zip file in one part expected");
  if (checked_add(found.offset, found.bytes) != records) {
    throw_load_error(ErrorCode::kBadFile, "directory", "{}: the zip directory of {} bytes at {} does not end at {}",
                     path, found.bytes, found.offset, records);
  }
  if (found.bytes > kZipMaxDirectoryBytes) {
    throw_load_error(ErrorCode::kBadFile, "directory", "{}: a zip directory of {} bytes, at most {} expected", path,
                     found.bytes, kZipMaxDirectoryBytes);
  }
  return found;
}

// Replaces those of the numbers that did not fit 32 bits by what an extra field holds.
void read_extra(BoundedReader& in, std::uint16_t extra_bytes, const std::string& name,
                std::initializer_list<std::uint64_t*> numbers) {
  std::uint64_t left = extra_bytes;
  while (left > 0) {
    if (left < 4) fail_entry(in.path(), name, "its extra fields are cut off");
    const auto id = in.number<std::uint16_t>("extra field");
    std::uint64_t size = in.number<std::uint16_t>("size of an extra field");
    left -= 4;
    if (size > left) fail_entry(in.path(), name, "its extra fields are cut off");
    left -= size;
    for (std::uint64_t* number : numbers) {
      if (id != kZip64Extra || *number != kIn64 || size < sizeof *number) continue;
      *number = in.number<std::uint64_t>("zip64 extra field");
      size -= sizeof *number;
    }
    for (; size > 0; --size) in.number<std::uint8_t>("extra field");
  }
}

std::string read_name(BoundedReader& in, std::uint16_t bytes) {
  in.require(bytes, 1, "entry name");
  std::string name(bytes, '\0');
  in.read(std::as_writable_bytes(std::span(name)), "entry name");
  return name;
}

// With the offset of its header, not yet of its data.
ZipEntry read_entry(BoundedReader& in) {
  if (in.number<std::uint32_t>("directory entry") != kCentralSignature) {
    fail(in.path(), "the zip directory holds something that is no entry");
  }
  in.number<std::uint32_t>("versions");
  const auto flags = in.number<std::uint16_t>("flags");
  ZipEntry entry;
  entry.method = in.number<std::uint16_t>("method");
  in.number<std::uint32_t>("time");
  in.number<std::uint32_t>("checksum");
  entry.bytes = in.number<std::uint32_t>("compressed size");
  std::uint64_t unpacked = in.number<std::uint32_t>("size");
  const auto name_bytes = in.number<std::uint16_t>("name length");
  const auto extra_bytes = in.number<std::uint16_t>("extra length");
  const auto comment_bytes = in.number<std::uint16_t>("comment length");
  const auto disk = in.number<std::uint16_t>("disk");
  in.number<std::uint16_t>("attributes");
  in.number<std::uint32_t>("attributes");
  entry.offset = in.number<std::uint32_t>("offset");
  entry.name = read_name(in, name_bytes);
  read_extra(in, extra_bytes, entry.name, {&unpacked, &entry.bytes, &entry.offset});
  for (std::uint16_t i = 0; i < comment_bytes; ++i) in.number<std::uint8_t>("comment");
  if ((flags & kEncrypted) != 0) fail_entry(in.path(), entry.name, "it is encrypted");
  if (disk != 0) fail_entry(in.path(), entry.name, "it is on another disk");
  if (entry.method == 0 && unpacked != entry.bytes)
    fail_entry(in.path(), entry.name, "its size and its compressed size differ, but it is not compressed");
  return entry;
}

// Moves the entry's offset from its header, which must lie behind `free`, to its data, which must end before `limit`.
void find_data(const RandomAccessFile& file, std::uint64_t free, std::uint64_t limit, ZipEntry& entry) {
  if (entry.offset < free) fail_entry(file.path(), entry.name, "it overlaps the entry before it");
  const std::uint64_t header_bytes = kLocalBytes + entry.name.size();
  if (entry.offset > limit || header_bytes > limit - entry.offset) {
    fail_entry(file.path(), entry.name, "its header does not lie in front of the directory");
  }
  BoundedReader in(file, entry.offset, header_bytes);
  if (in.number<std::uint32_t>("entry header") != kLocalSignature) {
    fail_entry(file.path(), entry.name, "there is no header where the directory says");
  }
  in.number<std::uint16_t>("version");
  in.number<std::uint16_t>("flags");
  const auto method = in.number<std::uint16_t>("method");
  for (const char* field : {"time", "checksum", "compressed size", "size"}) in.number<std::uint32_t>(field);
  const auto name_bytes = in.number<std::uint16_t>("name length");
  const auto extra_bytes = in.number<std::uint16_t>("extra length");
  if (name_bytes != entry.name.size() || read_name(in, name_bytes) != entry.name) {
    fail_entry(file.path(), entry.name, "its header has another name");
  }
  if (method != entry.method) fail_entry(file.path(), entry.name, "its header has another method");
  const std::uint64_t behind = limit - in.position();  // extra fields and data
  if (extra_bytes > behind || entry.bytes > behind - extra_bytes) {
    fail_entry(file.path(), entry.name,
               fmt::format("{} bytes at {} do not lie in front of the directory at {}", entry.bytes,
                           in.position() + extra_bytes, limit));
  }
  entry.offset = in.position() + extra_bytes;
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const RandomAccessFile& file) {
  const Directory directory = find_directory(file);
  BoundedReader in(file, directory.offset, directory.bytes);
  in.require(directory.entries, kCentralBytes, "zip directory");
  std::vector<ZipEntry> entries;
  std::unordered_set<std::string> names;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    entries.push_back(read_entry(in));
    if (!names.insert(entries.back().name).second) {
      fail_entry(file.path(), entries.back().name, "the name occurs twice");
    }
  }
  if (in.remaining() > 0) fail(file.path(), "the zip directory is longer than its entries");
  std::ranges::sort(entries, {}, &ZipEntry::offset);
  std::uint64_t free = 0;
  for (ZipEntry& entry : entries) {
    find_data(file, free, directory.offset, entry);
    free = entry.offset + entry.bytes;
  }
  return entries;
}

}  // namespace millrace::checkpoint
