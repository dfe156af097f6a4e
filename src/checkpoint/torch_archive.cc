#include "checkpoint/torch_archive.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

// What is a file of torch, but not a zip file of tensors.
void reject_older_formats(const RandomAccessFile& file) {
  // A pickle of protocol 2 that begins with torch's own magic number.
  constexpr std::string_view kLegacy("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);
  std::array<char, kLegacy.size()> begin{};
  if (file.size() < begin.size()) return;
  file.read(0, std::as_writable_bytes(std::span(begin))).or_throw();
  const std::string_view found(begin.data(), begin.size());
  if (found == kLegacy) reject_torch_file(file.path(), "the format of torch before 1.6 is not read");
  if (found.starts_with("\x80") && !found.starts_with("\x80PK"))
    reject_torch_file(file.path(), "a bare pickle is not read");
}

}  // namespace

void reject_torch_file(const std::string& file, std::string_view what) {
  throw_load_error(ErrorCode::kUnsupported, file,
                   "{}: {}; load it with torch where you trust it, and save it with safetensors.torch.save_file", file,
                   what);
}

TorchArchive::TorchArchive(const RandomAccessFile& file) {
  const std::string& path = file.path();
  reject_older_formats(file);
  for (ZipEntry& entry : read_zip_directory(file)) {
    const std::size_t slash = entry.name.find('/');
    const std::string_view in_folder = slash == std::string::npos ? "" : std::string_view(entry.name).substr(slash + 1);
    if (in_folder == "constants.pkl" || in_folder.starts_with("code/")) {
      reject_torch_file(path, "TorchScript, which is code, is not read");
    }
    if (in_folder == "data.pkl") {
      if (!folder_.empty()) reject_torch_file(path, "it holds several files called data.pkl");
      folder_ = entry.name.substr(0, slash + 1);
    }
    std::string name = entry.name;
    entries_.emplace(std::move(name), std::move(entry));
  }
  for (const auto& [name, entry] : entries_) {
    if (entry.method != 0) reject_torch_file(path, "its zip entry " + quote_name(name) + " is compressed");
  }
  if (folder_.empty()) {
    throw_load_error(ErrorCode::kBadFile, path, "{}: a zip file, but none of torch.save: it has no data.pkl", path);
  }
  check_byte_order(file);
}

void TorchArchive::check_byte_order(const RandomAccessFile& file) const {
  constexpr std::string_view kLittle = "little";
  const auto order = entries_.find(folder_ + "byteorder");
  if (order == entries_.end()) return;  // of torch before 2.1
  std::string found(std::min<std::uint64_t>(order->second.bytes, kLittle.size() + 1), '\0');
  file.read(order->second.offset, std::as_writable_bytes(std::span(found))).or_throw();
  if (found != kLittle) reject_torch_file(file.path(), "its byte order is " + quote_name(found) + ", not little");
}

const ZipEntry* TorchArchive::storage(const std::string& key) const {
  const auto entry = entries_.find(folder_ + "data/" + key);
  return entry == entries_.end() ? nullptr : &entry->second;
}

}  // namespace millrace::checkpoint
