#pragma once

#include <optional>
#include <string>

namespace millrace::app {

// Line editing with history on a terminal. Ctrl-C sets a flag instead of ending the process. One object per process.
class Terminal {
 public:
  explicit Terminal(std::string history_file);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Reads a line, without its newline; nothing at end of input (Ctrl-D). A line that ends with a backslash continues in
  // the next one. Ctrl-C discards the typed text and returns an empty line.
  std::optional<std::string> read_line(const char* prompt);

  // True once for each Ctrl-C since the last call.
  static bool take_interrupt() noexcept;

 private:
  std::string history_file_;
};

}  // namespace millrace::app
