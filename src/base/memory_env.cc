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

class MemoryWritableFile final : public WritableFile {
 public:
  MemoryWritableFile(MemoryEnv& env, const std::string& path) : env_(env), path_(path) {}
  Result<void> append(std::span<const std::byte> bytes) override { return env_.append(path_, bytes); }
  Result<void> sync() override {
    if (auto fault = env_.write_fails(path_); !fault) return fault;
    env_.synced_[path_] = env_.files[path_].size();
    return {};
  }

 private:
  MemoryEnv& env_;
  std::string path_;
};

class MemoryLock final : public HeldLock {
 public:
  MemoryLock(MemoryEnv& env, const std::string& path) : env_(env), path_(path) {}
  ~MemoryLock() override { env_.locked_.erase(path_); }
  MemoryLock(const MemoryLock&) = delete;
  MemoryLock& operator=(const MemoryLock&) = delete;

 private:
  MemoryEnv& env_;
  std::string path_;
};

Result<void> MemoryEnv::write_fails(const std::string& path) {
  if (writes++ != fail_write && !dead) return {};
  return make_error(ErrorCode::kInternal, path, "{}: write failed: I/O error", path);
}

Result<void> MemoryEnv::append(const std::string& path, std::span<const std::byte> bytes) {
  if (dead) return write_fails(path);
  const auto fault = write_fails(path);
  std::uint64_t used = 0;
  for (const auto& [name, content] : files) used += content.size();
  const auto room =
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), disk_bytes - std::min(disk_bytes, used)));
  const std::size_t done = fault ? room : std::min(room, bytes.size() / 2);
  files[path].append(reinterpret_cast<const char*>(bytes.data()), done);
  if (!fault) return fault;
  if (done < bytes.size()) {
    return make_error(ErrorCode::kResourceExhausted, path, "{}: write failed: No space left on device", path);
  }
  return {};
}

Result<std::unique_ptr<WritableFile>> MemoryEnv::create(const std::string& path) {
  if (auto fault = write_fails(path); !fault) return fault.error();
  files[path].clear();
  synced_[path] = 0;
  return std::unique_ptr<WritableFile>(std::make_unique<MemoryWritableFile>(*this, path));
}

Result<void> MemoryEnv::rename(const std::string& from, const std::string& to) {
  if (auto fault = write_fails(from); !fault) return fault;
  const auto source = files.find(from);
  if (source == files.end()) return make_error(ErrorCode::kNotFound, from, "{}: No such file or directory", from);
  files[to] = std::move(source->second);
  synced_[to] = synced_[from];
  files.erase(from);
  synced_.erase(from);
  return {};
}

Result<void> MemoryEnv::remove(const std::string& path) {
  if (auto fault = write_fails(path); !fault) return fault;
  synced_.erase(path);
  if (files.erase(path) == 0) return make_error(ErrorCode::kNotFound, path, "{}: No such file or directory", path);
  return {};
}

Result<std::unique_ptr<HeldLock>> MemoryEnv::lock(const std::string& path) {
  if (!locked_.insert(path).second) {
    return make_error(ErrorCode::kResourceExhausted, path, "{}: another process or thread has it", path);
  }
  return std::unique_ptr<HeldLock>(std::make_unique<MemoryLock>(*this, path));
}

void MemoryEnv::crash(std::uint64_t kept) {
  for (const auto& [path, synced] : synced_) {
    std::string& content = files[path];
    if (content.size() - synced > kept) content.resize(synced + kept);
  }
  locked_.clear();
}

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
