#include "top/top_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

namespace millrace::app {
namespace {

constexpr std::string_view kEnter = "\033[?1049h\033[?25l", kLeave = "\033[?25h\033[?1049l";

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

winsize size_of_terminal() {
  winsize size{};
  ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return size;
}

// Takes the first key from the bytes; those of keys that mean nothing here are dropped.
TopKey take_key(std::string& bytes) {
  constexpr std::pair<std::string_view, TopKey> kKeys[] = {
      {"q", TopKey::kQuit},      {"Q", TopKey::kQuit},    {"\x04", TopKey::kQuit},  {"s", TopKey::kSort},
      {"S", TopKey::kSort},      {"k", TopKey::kUp},      {"j", TopKey::kDown},     {"\033[A", TopKey::kUp},
      {"\033[B", TopKey::kDown}, {"\033OA", TopKey::kUp}, {"\033OB", TopKey::kDown}};
  for (; !bytes.empty(); bytes.erase(0, 1)) {
    for (const auto& [text, key] : kKeys) {
      if (!bytes.starts_with(text)) continue;
      bytes.erase(0, text.size());
      return key;
    }
  }
  return TopKey::kNone;
}

}  // namespace

TopTerminal::TopTerminal(bool keys) : keys_(keys) {
  if (keys_) {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  write(kEnter);
}

TopTerminal::~TopTerminal() {
  write(kLeave);
  if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::size_t TopTerminal::columns() const {
  const winsize size = size_of_terminal();
  return size.ws_col == 0 ? 80 : std::max<std::size_t>(size.ws_col, 20);
}

std::size_t TopTerminal::rows() const {
  const winsize size = size_of_terminal();
  return size.ws_row == 0 ? 24 : std::max<std::size_t>(size.ws_row, 5);
}

void TopTerminal::draw(const std::vector<std::string>& lines) const {
  std::string text = "\033[H";
  const std::size_t n = std::min(lines.size(), rows());
  for (std::size_t i = 0; i < n; ++i) text += lines[i] + "\033[K" + (i + 1 < n ? "\n" : "");
  write(text + "\033[J");
}

TopKey TopTerminal::wait_key(int milliseconds) {
  if (!keys_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return TopKey::kNone;
  }
  if (const TopKey key = take_key(typed_); key != TopKey::kNone) return key;
  pollfd ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, milliseconds) <= 0) return TopKey::kNone;
  char bytes[64];
  const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (n == 0) return TopKey::kQuit;  // the terminal is gone
  if (n > 0) typed_.append(bytes, static_cast<std::size_t>(n));
  return take_key(typed_);
}

}  // namespace millrace::app
