#include "chat/terminal.h"

#include <editline/readline.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "chat/key_input.h"
#include "screen/look.h"

namespace millrace::app {
namespace {

constexpr std::size_t kMaxRemembered = 4096;

volatile std::sig_atomic_t interrupted = 0;
int wake_up[2] = {-1, -1};  // a pipe: an interrupt between the prompt and the wait for a key is not lost
std::function<Completions(const std::string&, const std::string&)> completer;
std::optional<termios> loud;  // the terminal's settings while keys are not shown

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

bool fill_from_stdin(std::string& bytes, int timeout_ms) {
  pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0}, {wake_up[0], POLLIN, 0}};
  int found = 0;
  while ((found = ::poll(ready, 2, timeout_ms)) < 0 && errno == EINTR) {
  }
  if (interrupted != 0 || found <= 0) return false;
  std::array<char, 4096> piece{};
  const ssize_t size = ::read(STDIN_FILENO, piece.data(), piece.size());
  if (size <= 0) return false;
  bytes.append(piece.data(), static_cast<std::size_t>(size));
  return true;
}

KeyInput& keys() {
  static KeyInput input(fill_from_stdin);
  return input;
}

// The next character of stdin for the editor; EOF at its end and at an interrupt.
int next_character(FILE*) {
  static_assert(KeyInput::kEnd == EOF);
  return keys().next();
}

// Before the prompt, where the editor would do it after: a Ctrl-D pressed in between would be lost in the terminal's
// own line editing.
int take_terminal() {
  rl_prep_terminal(1);
  return 0;
}

void bracket_pastes(bool on) {
  if (!screen::look_of(STDERR_FILENO).escapes) return;
  std::fputs(on ? "\x1b[?2004h" : "\x1b[?2004l", stderr);
  std::fflush(stderr);
}

void catch_interrupts(bool on) {
  struct sigaction action{};
  action.sa_handler = on ? on_interrupt : SIG_DFL;
  sigaction(SIGINT, &action, nullptr);
}

// libedit's hook: matches as readline has them, allocated by malloc: the common beginning, all, null.
char** complete_word(const char* text, int start, int) {
  rl_attempted_completion_over = 1;
  if (!completer) return nullptr;
  const std::string word(text), before(rl_line_buffer, static_cast<std::size_t>(start));
  const Completions found = completer(before, word);
  if (found.words.empty()) {
    rl_attempted_completion_over = found.files ? 0 : 1;
    return nullptr;
  }
  std::string common = found.words.front();
  for (const std::string& other : found.words) {
    std::size_t same = 0;
    while (same < common.size() && same < other.size() && common[same] == other[same]) ++same;
    common.resize(same);
  }
  const std::size_t count = found.words.size();
  auto** out = static_cast<char**>(std::calloc(count + 2, sizeof(char*)));
  out[0] = ::strdup(common.c_str());
  for (std::size_t i = 0; i < count; ++i) out[i + 1] = ::strdup(found.words[i].c_str());
  if (count == 1) out[1] = (std::free(out[1]), nullptr);
  return out;
}

}  // namespace

CaughtInterrupts::CaughtInterrupts() { catch_interrupts(true); }
CaughtInterrupts::~CaughtInterrupts() { catch_interrupts(false); }

Terminal::Terminal(std::string history_file)
    : history_([&] {
        // The editor must know how wide characters are. Without a locale of UTF-8 they come as UTF-8 all the same.
        std::setlocale(LC_CTYPE, "");
        if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
        rl_outstream = stderr;  // prompt and echo: stdout is for answers
        if (wake_up[0] < 0 && ::pipe2(wake_up, O_NONBLOCK | O_CLOEXEC) != 0) wake_up[0] = wake_up[1] = -1;
        rl_getc_function = next_character;  // looked at once, when using_history() sets the editor up
        rl_pre_input_hook = take_terminal;
        rl_attempted_completion_function = complete_word;
        using_history();
        return HistoryFile(std::move(history_file));
      }()) {
  catch_interrupts(true);
  bracket_pastes(true);
}

Terminal::~Terminal() {
  bracket_pastes(false);
  catch_interrupts(false);
  completer = {};
}

void Terminal::pause() {
  bracket_pastes(false);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the other program
}

void Terminal::resume() {
  catch_interrupts(true);
  bracket_pastes(true);
}

TypedLine Terminal::read_line(const std::string& prompt) {
  forget_interrupts();
  keys().begin_line();
  char* line = readline(prompt.c_str());
  if (line == nullptr) {
    if (!take_interrupt()) return {TypedLine::Kind::kEnd, {}, false};
    std::fputc('\n', stderr);
    keys().with_pastes({});
    return {TypedLine::Kind::kInterrupt, {}, !keys().any()};
  }
  TypedLine typed{TypedLine::Kind::kLine, keys().with_pastes(line), false};
  std::free(line);
  if (const std::size_t invalid = keys().take_invalid(); invalid > 0) {
    std::fprintf(stderr, "the pasted text has %zu bytes that are not UTF-8: replaced\n", invalid);
  }
  return typed;
}

void Terminal::remember(const std::string& text) {
  if (text.empty() || text.size() > kMaxRemembered) return;
  add_history(text.c_str());
  history_.append(text);
}

void Terminal::complete_with(std::function<Completions(const std::string&, const std::string&)> with) {
  completer = std::move(with);
}

bool Terminal::take_interrupt() noexcept {
  const bool was = interrupted != 0;
  interrupted = 0;
  return was;
}

QuietKeys::QuietKeys() {
  termios settings{};
  if (loud || ::isatty(STDIN_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &settings) != 0) return;
  loud = settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

QuietKeys::~QuietKeys() {
  if (loud) ::tcsetattr(STDIN_FILENO, TCSANOW, &*loud);
  loud.reset();
}

}  // namespace millrace::app
