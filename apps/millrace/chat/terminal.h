#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chat/history_file.h"

namespace millrace::app {

// While it lives, Ctrl-C sets a flag, which Terminal::take_interrupt() reads, instead of ending the process.
class CaughtInterrupts {
 public:
  CaughtInterrupts();
  ~CaughtInterrupts();
  CaughtInterrupts(const CaughtInterrupts&) = delete;
  CaughtInterrupts& operator=(const CaughtInterrupts&) = delete;
};

// What TAB offers for a word.
struct Completions {
  std::vector<std::string> words;
  bool files = false;  // names of files, where no word fits
};

// What read_line() read.
struct TypedLine {
  enum class Kind { kLine, kInterrupt, kEnd };
  Kind kind = Kind::kLine;
  std::string text;    // without its newline, with texts that were pasted
  bool empty = false;  // kInterrupt: nothing had been typed
};

// Line editing with history and bracketed paste on a terminal. Ctrl-C sets a flag instead of ending the process. One
// per process and one thread, since the editor and the handler of SIGINT are global.
class Terminal {
 public:
  explicit Terminal(std::string history_file);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Reads a line; kEnd at the end of input (Ctrl-D). Ctrl-C discards what was typed. The prompt may have escape codes
  // between two bytes '\1'.
  TypedLine read_line(const std::string& prompt);
  // Adds a message to the history; one of more than 4 KiB is left out.
  void remember(const std::string& text);
  // What TAB offers: called with the line before the word, and the word.
  void complete_with(std::function<Completions(const std::string& before, const std::string& word)> completer);

  // Between pause() and resume() the terminal is as it was before: for a program that takes it over.
  void pause();
  void resume();

  // Whether Ctrl-C was pressed since the last call; several count once. read_line() clears the flag when it starts.
  static bool take_interrupt() noexcept;

 private:
  HistoryFile history_;
};

// While it lives, keys are not shown: what is typed during an answer appears at the next prompt, once. Ctrl-C works.
class QuietKeys {
 public:
  QuietKeys();
  ~QuietKeys();
  QuietKeys(const QuietKeys&) = delete;
  QuietKeys& operator=(const QuietKeys&) = delete;
};

}  // namespace millrace::app
