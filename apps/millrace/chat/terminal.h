#pragma once

#include <optional>
#include <string>

namespace millrace::app {

// Line editing with history on a terminal, and Ctrl-C as a question instead of an end. One per process.
class Terminal {
 public:
  explicit Terminal(std::string history_file);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // The next line without its newline; nothing at end of input (Ctrl-D). A line ending in a backslash goes on in the
  // next one. Ctrl-C forgets what was typed: an empty line.
  std::optional<std::string> read_line(const char* prompt);

  // True once for each Ctrl-C since the last call.
  static bool take_interrupt() noexcept;

 private:
  std::string history_file_;
};

}  // namespace millrace::app
