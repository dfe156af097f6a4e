#include "chat/terminal.h"

#include <editline/readline.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>

namespace millrace::app {
namespace {

volatile std::sig_atomic_t interrupted = 0;
int wake_up[2] = {-1, -1};  // a pipe: an interrupt between the prompt and the wait for a key is not lost

void on_interrupt(int) {
  const int before = errno;
  interrupted = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_up[1], "", 1);
  errno = before;
}

void forget_interrupts() {
  char byte = 0;
  while (::read(wake_up[0], &byte, 1) == 1) {
  }
  interrupted = 0;
}

// The next character of stdin for the editor; EOF at its end and at an interrupt.
int next_character(FILE*) {
  std::mbstate_t state{};
  for (;;) {
    pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0}, {wake_up[0], POLLIN, 0}};
    while (::poll(ready, 2, -1) < 0 && errno == EINTR) {
    }
    if (interrupted != 0) return EOF;
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) return EOF;
    wchar_t character = 0;
    const std::size_t size = std::mbrtowc(&character, &byte, 1, &state);
    if (size == static_cast<std::size_t>(-1)) return 0xFFFD;
    if (size != static_cast<std::size_t>(-2)) return static_cast<int>(character);
  }
}

// Before the prompt, where the editor would do it after: a Ctrl-D pressed in between would be lost in the terminal's
// own line editing.
int take_terminal() {
  rl_prep_terminal(1);
  return 0;
}

constexpr int kHistoryLines = 1000;

}  // namespace

Terminal::Terminal(std::string history_file) : history_file_(std::move(history_file)) {
  std::setlocale(LC_CTYPE, "");  // so that the editor knows how wide characters are
  rl_outstream = stderr;         // prompt and echo: stdout is for answers
  if (wake_up[0] < 0 && ::pipe2(wake_up, O_NONBLOCK | O_CLOEXEC) != 0) wake_up[0] = wake_up[1] = -1;
  rl_getc_function = next_character;  // looked at once, when using_history() sets the editor up
  rl_pre_input_hook = take_terminal;
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
    forget_interrupts();
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
