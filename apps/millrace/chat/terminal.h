#pragma once

#include <optional>
#include <string>

namespace millrace::app {

// Line editing with history on a terminal. Ctrl-C sets a flag instead of ending the process. One per process and one
// thread, since the editor and the handler of SIGINT are global.
class Terminal {
 public:
  explicit Terminal(std::string history_file);  // reads the history; the file may be absent
  ~Terminal();                                  // writes the last 1000 lines; errors are ignored
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Reads a line, without its newline; nothing at end of input (Ctrl-D). A backslash at the end of a line continues it
  // on the next one. Ctrl-C discards the input and returns an empty line.
  std::optional<std::string> read_line(const char* prompt);

  // Whether Ctrl-C was pressed since the last call; several count once. read_line() clears the flag when it starts.
  static bool take_interrupt() noexcept;

 private:
  std::string history_file_;
};

}  // namespace millrace::app
