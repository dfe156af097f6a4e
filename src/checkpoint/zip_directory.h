#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/env.h"

namespace millrace::checkpoint {

// One file inside a zip file.
struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0, bytes = 0;  // as it lies there: absolute in the zip file, checked to lie inside it
  std::uint16_t method = 0;             // of compression; 0 = none
};

inline constexpr std::uint64_t kZipMaxDirectoryBytes = 64 << 20;

// The entries of a zip or zip64 file, sorted by offset. Nothing is unpacked. Checked: one disk, no comment, the
// directory and its records end the file without a gap, every entry has a header of its own of the same name and
// method, entries are apart from each other and in front of the directory, no name twice, none encrypted. Checksums are
// not. Throws LoadError. Reads the directory and a header an entry.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
std::vector<ZipEntry> read_zip_directory(const RandomAccessFile& file);

}  // namespace millrace::checkpoint
