#include "servers/owner_socket.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/log.h"

namespace millrace::app {
namespace {

std::string folder_name() {
  const char* given = std::getenv("XDG_RUNTIME_DIR");
  if (given != nullptr && given[0] == '/') return std::string(given) + "/millrace";
  const std::string of_session = fmt::format("/run/user/{}", ::geteuid());
  if (::access(of_session.c_str(), W_OK) == 0) return of_session + "/millrace";
  return fmt::format("/tmp/millrace-{}", ::geteuid());
}

}  // namespace

Result<std::string> owner_socket_folder() {
  std::string folder = folder_name();
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0) return folder;
  const char* wrong = !S_ISDIR(status.st_mode)                      ? "is not a directory"
                      : status.st_uid != ::geteuid()                ? "belongs to another user"
                      : (status.st_mode & (S_IRWXG | S_IRWXO)) != 0 ? "is open to other users: chmod 700 closes it"
                                                                    : nullptr;
  if (wrong != nullptr) return make_error(ErrorCode::kInvalidArgument, "XDG_RUNTIME_DIR", "{} {}", folder, wrong);
  return folder;
}

std::string owner_socket_to_listen_on() {
  constexpr const char* kUnseen = "this server is not found by `millrace ps` and `run`";
  const std::string name = folder_name();
  if (::mkdir(name.c_str(), 0700) != 0 && errno != EEXIST) {
    log::warn("{}: {}: {}", name, std::strerror(errno), kUnseen);
    return "";
  }
  const auto folder = owner_socket_folder();
  if (folder) return fmt::format("{}/{}.sock", *folder, ::getpid());
  log::warn("{}: {}", folder.error().message, kUnseen);
  return "";
}

}  // namespace millrace::app
