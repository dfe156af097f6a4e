#include "hub/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace millrace::hub {
namespace {

enum class Attempt { kTaken, kBusy, kReplaced, kFailed };

// The file may be deleted and made anew by the last holder of the lock: then the lock is one on nothing.
bool still_named(int fd, const std::string& path) {
  struct stat opened{}, named{};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

Attempt attempt(const std::string& path, int& fd) {
  fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return Attempt::kFailed;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    if (still_named(fd, path)) return Attempt::kTaken;
  } else if (errno == EWOULDBLOCK || errno == EINTR) {
    ::close(fd);
    return Attempt::kBusy;
  } else {
    return Attempt::kTaken;  // ENOLCK, EOPNOTSUPP: no locks here
  }
  ::close(fd);
  return Attempt::kReplaced;
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path, const std::function<bool()>& wait) {
  for (;;) {
    int fd = -1;
    switch (attempt(path, fd)) {
      case Attempt::kTaken: return FileLock(fd);
      case Attempt::kReplaced: break;
      case Attempt::kBusy:
        if (!wait()) return make_error(ErrorCode::kCancelled, path, "{}: interrupted", path);
        break;
      case Attempt::kFailed:
        return make_error(ErrorCode::kInternal, path, "{}: open failed: {}", path, std::strerror(errno));
    }
  }
}

std::optional<FileLock> FileLock::try_acquire(const std::string& path) {
  int fd = -1;
  if (attempt(path, fd) != Attempt::kTaken) return std::nullopt;
  return FileLock(fd);
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace millrace::hub
