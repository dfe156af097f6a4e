#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/env.h"

namespace millrace::checkpoint {

// One file inside a zip file.
struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0, bytes = 0;  // of the stored bytes, absolute in the zip file; checked to lie inside it
  std::uint16_t method = 0;             // compression method; 0 = none
};

inline constexpr std::uint64_t kZipMaxDirectoryBytes = 64 << 20;

// The entries of a zip or zip64 file, sorted by offset. Nothing is decompressed, and checksums are not verified. It
// checks: one disk, no comment; the directory and its records end the file without gaps; every entry has a header with
// the same name and method; entries do not overlap and precede the directory; names are unique; none is encrypted.
// Throws LoadError. Reads the directory, and one header for each entry.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
std::vector<ZipEntry> read_zip_directory(const RandomAccessFile& file);

}  // namespace millrace::checkpoint
