#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace millrace::hub {
namespace {

Error failure(const std::string& path, const char* what) {
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return make_error(full ? ErrorCode::kResourceExhausted : ErrorCode::kInternal, path, "{}: {} failed: {}", path, what,
                    std::strerror(error));
}

// The new name survives a power cut only once its folder is synced.
void sync_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

class SystemPartialFile final : public PartialFile {
 public:
  SystemPartialFile(int fd, std::string path, std::uint64_t size) : fd_(fd), path_(std::move(path)), size_(size) {}
  ~SystemPartialFile() override { ::close(fd_); }

  std::uint64_t size() const override { return size_; }

  Result<void> append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure(path_, "write");
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      size_ += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure(path_, "read");
      if (n == 0) return make_error(ErrorCode::kInternal, path_, "{}: became shorter while it was read", path_);
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Result<void> truncate() override {
    if (::ftruncate(fd_, 0) != 0) return failure(path_, "truncate");
    size_ = 0;
    return {};
  }

  Result<void> commit(const std::string& path) override {
    if (::fsync(fd_) != 0) return failure(path_, "fsync");
    if (::rename(path_.c_str(), path.c_str()) != 0) return failure(path_, "rename");
    sync_folder(path);
    return {};
  }

  void remove() override { ::unlink(path_.c_str()); }

 private:
  int fd_;
  std::string path_;
  std::uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<PartialFile>> open_partial_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return failure(path, "open");
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return make_error(ErrorCode::kInternal, path, "{}: not a regular file", path);
  }
  return std::unique_ptr<PartialFile>(
      std::make_unique<SystemPartialFile>(fd, path, static_cast<std::uint64_t>(status.st_size)));
}

Result<std::uint64_t> free_bytes(const std::string& path) {
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0) return failure(path, "statvfs");
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace millrace::hub
