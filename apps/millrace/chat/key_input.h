#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace millrace::app {

// Characters that are typed or pasted, from the bytes of a terminal. Text pasted between ESC[200~ and ESC[201~
// (bracketed paste) is one piece: a short line is typed in; anything else is kept, and a placeholder such as
// "[paste 1: 24 lines]" stands for it in the line. One thread.
class KeyInput {
 public:
  // Appends bytes that have arrived, waiting at most so many milliseconds for the first; -1 = without limit. False if
  // none came: the time is over, the input has ended, or an interrupt came.
  using Fill = std::function<bool(std::string& bytes, int timeout_ms)>;
  explicit KeyInput(Fill fill) : fill_(std::move(fill)) {}

  static constexpr int kEnd = -1;
  // The next character; kEnd if fill() has none. Bytes that are not UTF-8 become U+FFFD.
  int next();
  // Whether next() has returned a character since the last call of begin_line().
  bool any() const noexcept { return any_; }
  void begin_line() noexcept { any_ = false; }

  // The line with its pasted texts in place of their placeholders. Forgets them.
  std::string with_pastes(std::string line);
  // Number of bytes in pasted texts that were not UTF-8 and were replaced, since the last call.
  std::size_t take_invalid();

 private:
  struct Paste {
    std::string placeholder, text;
  };
  void take_paste();
  void keep(std::string text);

  Fill fill_;
  std::string bytes_;  // arrived, not looked at yet
  std::deque<char32_t> queue_;
  std::vector<Paste> pastes_;
  std::size_t invalid_ = 0;
  bool any_ = false;
};

}  // namespace millrace::app
