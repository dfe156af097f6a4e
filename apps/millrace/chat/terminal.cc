#include "chat/terminal.h"

#include <editline/readline.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace millrace::app {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

constexpr int kHistoryLines = 1000;

}  // namespace

Terminal::Terminal(std::string history_file) : history_file_(std::move(history_file)) {
  std::setlocale(LC_CTYPE, "");  // so that the editor knows how wide characters are
  rl_outstream = stderr;         // prompt and echo: stdout is for answers
  using_history();
  stifle_history(kHistoryLines);
  read_history(history_file_.c_str());
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

Terminal::~Terminal() {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(history_file_).parent_path(), ignored);
  write_history(history_file_.c_str());
  std::signal(SIGINT, SIG_DFL);
}

std::optional<std::string> Terminal::read_line(const char* prompt) {
  std::string text;
  for (const char* shown = prompt;; shown = "... ") {
    interrupted = 0;
    char* line = readline(shown);
    if (line == nullptr) {
      if (!take_interrupt()) return std::nullopt;
      std::fputc('\n', stderr);
      return "";
    }
    text += line;
    std::free(line);
    if (text.empty() || text.back() != '\\') break;
    text.back() = '\n';
  }
  if (!text.empty()) add_history(text.c_str());
  return text;
}

bool Terminal::take_interrupt() noexcept {
  const bool was = interrupted != 0;
  interrupted = 0;
  return was;
}

}  // namespace millrace::app
