#include "base/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace millrace {

Result<OutputFile> OutputFile::create(const std::string& path) {
  const std::string temporary = path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return make_error(ErrorCode::kInvalidArgument, path, "{}: cannot be created: {}", temporary, std::strerror(errno));
  }
  // What a killed writer left is free again: its lock went with it.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || ::ftruncate(fd, 0) != 0) {
    const Error error = make_error(ErrorCode::kInvalidArgument, path, "{}: another process is writing it", temporary);
    ::close(fd);
    return error;
  }
  return OutputFile(fd, path);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), position_(other.position_) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink((path_ + ".tmp").c_str());
}

Error OutputFile::failure(const char* what) const {
  const ErrorCode code = errno == ENOSPC ? ErrorCode::kResourceExhausted : ErrorCode::kInternal;
  return make_error(code, path_, "{}: {} failed after {} bytes: {}", path_, what, position_, std::strerror(errno));
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure("write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    position_ += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> OutputFile::write_zeros(std::uint64_t count) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  while (count > 0) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count, kZeros.size()));
    if (auto written = write(std::span(kZeros).first(n)); !written) return written;
    count -= n;
  }
  return {};
}

Result<void> OutputFile::commit(bool durable) {
  if (durable && ::fsync(fd_) != 0) return failure("fsync");
  if (::rename((path_ + ".tmp").c_str(), path_.c_str()) != 0) return failure("rename");
  ::close(std::exchange(fd_, -1));
  if (!durable) return {};
  // The new name survives a power cut only once its directory is synced; file systems without that are as good as they
  // get.
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  const int directory = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return {};
}

}  // namespace millrace
