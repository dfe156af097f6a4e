#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "screen/look.h"

namespace millrace::screen {

// One line that is overwritten and goes away: progress on a terminal. Elsewhere nothing is shown. One thread.
class StatusLine {
 public:
  using Write = std::function<void(std::string_view)>;
  StatusLine();  // on stderr
  StatusLine(Look look, Write write) : look_(std::move(look)), write_(std::move(write)) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(std::string text);  // ASCII; cut at the terminal's width
  void clear();

 private:
  const Look look_;
  const Write write_;
  std::size_t shown_ = 0;  // columns
  std::string text_;
};

}  // namespace millrace::screen
