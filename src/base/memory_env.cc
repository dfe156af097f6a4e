#include "base/memory_env.h"

#include <algorithm>

namespace millrace {
namespace {

class MemoryFile final : public RandomAccessFile {
 public:
  MemoryFile(MemoryEnv& env, const std::string& path, const std::string& bytes)
      : env_(env), path_(path), bytes_(bytes) {}

  std::uint64_t size() const noexcept override { return bytes_.size(); }
  const std::string& path() const noexcept override { return path_; }

  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (env_.reads++ == env_.fail_read) {
      return make_error(ErrorCode::kBadFile, path_, "{}: read at {} failed: I/O error", path_, offset);
    }
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return make_error(ErrorCode::kBadFile, path_, "{}: truncated: {} bytes expected at offset {} of {}", path_,
                        out.size(), offset, bytes_.size());
    }
    std::copy_n(reinterpret_cast<const std::byte*>(bytes_.data()) + offset, out.size(), out.data());
    return {};
  }

 private:
  MemoryEnv& env_;
  std::string path_;
  const std::string& bytes_;
};

}  // namespace

Result<std::unique_ptr<RandomAccessFile>> MemoryEnv::open(const std::string& path) {
  const auto it = files.find(path);
  if (it == files.end()) return make_error(ErrorCode::kNotFound, path, "{}: No such file or directory", path);
  return std::unique_ptr<RandomAccessFile>(std::make_unique<MemoryFile>(*this, path, it->second));
}

std::vector<std::string> MemoryEnv::list(const std::string& directory) {
  std::vector<std::string> names;
  const std::string prefix = directory + "/";
  for (const auto& [path, bytes] : files) {
    if (!path.starts_with(prefix)) continue;
    std::string name = path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size());
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace millrace
