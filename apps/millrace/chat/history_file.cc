#include "chat/history_file.h"

#include <editline/readline.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "printable.h"

namespace millrace::app {
namespace {

constexpr const char* kHistoryHead = "_HiStOrY_V2_\n";
constexpr int kHistoryLines = 1000, kMaxHistoryLines = 2000;

// One line, with white space and backslashes as libedit's strunvis() reads them.
std::string encoded_history(const std::string& line) {
  std::string out;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (byte <= 0x20 || byte == 0x7F) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + "\n";
}

// 0, or the error.
int append_to_file(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  struct stat facts{};
  const bool is_new = ::fstat(file, &facts) == 0 && facts.st_size == 0;
  const std::string text = (is_new ? kHistoryHead : "") + encoded_history(line);
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  ::close(file);
  return error;
}

}  // namespace

HistoryFile::HistoryFile(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  stifle_history(kHistoryLines);
  if (!std::filesystem::is_regular_file(path_, ignored)) return;
  read_history(path_.c_str());
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  if (lines > kMaxHistoryLines) write_history(path_.c_str());
}

void HistoryFile::append(const std::string& line) {
  if (failed_) return;
  const int error = append_to_file(path_, line);
  if (error == 0) return;
  failed_ = true;
  std::fprintf(stderr, "the history is not kept: cannot write %s: %s\n", printable(path_).c_str(),
               std::strerror(error));
}

}  // namespace millrace::app
