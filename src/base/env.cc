#include "base/env.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

namespace millrace {
namespace {

class PosixFile final : public RandomAccessFile {
 public:
  PosixFile(int fd, const struct stat& facts, std::string path)
      : fd_(fd),
        size_(static_cast<std::uint64_t>(facts.st_size)),
        modified_(std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec),
        path_(std::move(path)) {}
  ~PosixFile() override { ::close(fd_); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  std::uint64_t size() const noexcept override { return size_; }
  const std::string& path() const noexcept override { return path_; }
  std::int64_t modified() const noexcept override { return modified_; }

  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        return make_error(ErrorCode::kBadFile, path_, "{}: read at {} failed: {}", path_, offset, std::strerror(errno));
      }
      if (n == 0) {
        return make_error(ErrorCode::kBadFile, path_, "{}: truncated: {} more bytes expected at offset {}", path_,
                          out.size(), offset);
      }
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

 private:
  int fd_;
  std::uint64_t size_;
  std::int64_t modified_;
  std::string path_;
};

Error write_error(const std::string& path, const char* what) {
  const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::kResourceExhausted : ErrorCode::kInternal;
  return make_error(code, path, "{}: {} failed: {}", path, what, std::strerror(errno));
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixWritableFile() override { ::close(fd_); }
  PosixWritableFile(const PosixWritableFile&) = delete;
  PosixWritableFile& operator=(const PosixWritableFile&) = delete;

  Result<void> append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return write_error(path_, "write");
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }
  Result<void> sync() override {
    if (::fdatasync(fd_) != 0) return write_error(path_, "fdatasync");
    return {};
  }

 private:
  int fd_;
  std::string path_;
};

class PosixLock final : public HeldLock {
 public:
  explicit PosixLock(int fd) : fd_(fd) {}
  ~PosixLock() override { ::close(fd_); }
  PosixLock(const PosixLock&) = delete;
  PosixLock& operator=(const PosixLock&) = delete;

 private:
  int fd_;
};

class SystemEnv final : public Env {
 public:
  TimePoint now() const override { return Clock::now(); }

  std::uint64_t random_seed() override {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
  }

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kBadFile;
      return make_error(code, path, "{}: {}", path, std::strerror(errno));
    }
    struct stat info{};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd);
      return make_error(ErrorCode::kBadFile, path, "{}: not a regular file", path);
    }
    return std::unique_ptr<RandomAccessFile>(std::make_unique<PosixFile>(fd, info, path));
  }

  std::vector<std::string> list(const std::string& directory) override {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
      names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> create_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return make_error(ErrorCode::kInternal, path, "{}: cannot be created: {}", path, error.message());
    return {};
  }

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return write_error(path, "open");
    return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(fd, path));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return write_error(from, "rename");
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return write_error(path, "remove");
    return {};
  }

  Result<std::unique_ptr<HeldLock>> lock(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return write_error(path, "open");
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd);
      return make_error(ErrorCode::kResourceExhausted, path, "{}: another process or thread has it", path);
    }
    return std::unique_ptr<HeldLock>(std::make_unique<PosixLock>(fd));
  }
};

Error nothing_written(const std::string& path) {
  return make_error(ErrorCode::kUnsupported, path, "{}: nothing is written here", path);
}

}  // namespace

Result<void> Env::create_directories(const std::string& path) { return nothing_written(path); }
Result<std::unique_ptr<WritableFile>> Env::create(const std::string& path) { return nothing_written(path); }
Result<void> Env::rename(const std::string& from, const std::string&) { return nothing_written(from); }
Result<void> Env::remove(const std::string& path) { return nothing_written(path); }
Result<std::unique_ptr<HeldLock>> Env::lock(const std::string& path) { return nothing_written(path); }

Env& Env::system() {
  static SystemEnv env;
  return env;
}

Result<std::string> read_file(Env& env, const std::string& path, std::uint64_t limit_bytes) {
  auto file = env.open(path);
  if (!file) return file.error();
  const std::uint64_t size = (*file)->size();
  if (size > limit_bytes) {
    return make_error(ErrorCode::kBadFile, path, "{}: {} bytes, the limit is {}", path, size, limit_bytes);
  }
  std::string text(size, '\0');
  if (auto read = (*file)->read(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
}

}  // namespace millrace
