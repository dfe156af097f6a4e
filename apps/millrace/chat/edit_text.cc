#include "chat/edit_text.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/env.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kMaxEditedBytes = std::uint64_t{64} << 20;

std::string editor() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "vi";
}

// Runs "EDITOR FILE" by the shell, as EDITOR may have arguments. Its exit code; -1 if it did not end by itself.
int run_editor(const std::string& command, const std::string& file) {
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    const std::string line = command + " \"$1\"";
    ::execl("/bin/sh", "sh", "-c", line.c_str(), "sh", file.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Result<std::string> edit_text(const std::string& text) {
  std::error_code ignored;
  std::string file = (std::filesystem::temp_directory_path(ignored) / "millrace-XXXXXX").string();
  const int opened = ::mkstemp(file.data());  // mode 0600
  if (opened < 0) {
    return make_error(ErrorCode::kUnavailable, "edit", "cannot write {}: {}", file, std::strerror(errno));
  }
  const bool written = ::write(opened, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(opened);
  const std::string command = editor();
  const int code = written ? run_editor(command, file) : -1;
  auto edited = read_file(Env::system(), file, kMaxEditedBytes);
  ::unlink(file.c_str());
  if (code != 0) {
    return make_error(ErrorCode::kUnavailable, "edit", "the editor '{}' failed ($VISUAL and $EDITOR name another)",
                      command);
  }
  if (edited) (*edited).erase((*edited).find_last_not_of('\n') + 1);
  return edited;
}

}  // namespace millrace::app
