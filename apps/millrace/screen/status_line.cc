#include "screen/status_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace millrace::screen {

StatusLine::StatusLine()
    : StatusLine(look_of(STDERR_FILENO), [](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stderr);
        std::fflush(stderr);
      }) {}

void StatusLine::show(std::string text) {
  if (!look_.terminal) return;
  const int columns = look_.columns();
  if (columns > 1) text.resize(std::min(text.size(), static_cast<std::size_t>(columns - 1)));
  if (text == text_) return;
  const std::size_t size = text.size(), over = shown_ > size ? shown_ - size : 0;
  std::string line = "\r" + (look_.styles ? "\x1b[2m" + text + "\x1b[0m" : text);
  write_(line + std::string(over, ' '));
  shown_ = std::max(shown_, size);
  text_ = std::move(text);
}

// Blanks instead of an escape code, which a dumb terminal does not know.
void StatusLine::clear() {
  if (shown_ == 0) return;
  write_("\r" + std::string(shown_, ' ') + "\r");
  shown_ = 0;
  text_.clear();
}

}  // namespace millrace::screen
