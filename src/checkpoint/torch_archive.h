#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/env.h"
#include "checkpoint/zip_directory.h"

namespace millrace::checkpoint {

// Throws a LoadError (kUnsupported) that names what the file is or holds, and how to convert it.
[[noreturn]] void reject_torch_file(const std::string& file, std::string_view what);

// The parts of a zip file that torch.save writes: FOLDER/data.pkl and FOLDER/data/KEY. Throws LoadError for torch's
// other formats, compressed entries, and another byte order.
class TorchArchive {
 public:
  explicit TorchArchive(const RandomAccessFile& file);

  const ZipEntry& pickle() const { return entries_.at(folder_ + "data.pkl"); }
  const ZipEntry* storage(const std::string& key) const;  // null if there is none of that key

 private:
  void check_byte_order(const RandomAccessFile& file) const;

  std::unordered_map<std::string, ZipEntry> entries_;
  std::string folder_;  // with the slash behind it
};

}  // namespace millrace::checkpoint
