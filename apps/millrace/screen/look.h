#pragma once

#include <functional>

namespace millrace::screen {

// What the terminal at a file descriptor can show.
struct Look {
  bool terminal = false;  // false: a file or a pipe, which gets text as it is
  bool escapes = false;   // it understands escape codes: TERM is set, and not "dumb"; never without `terminal`
  bool styles = false;    // they may be used for colours and bold: NO_COLOR is unset or empty; never without `escapes`
  bool ascii = true;      // the locale has no UTF-8: frames and bullets are drawn in ASCII
  // Width now, which a resize changes; 0 = unknown, lines are not wrapped.
  std::function<int()> columns = [] { return 0; };
};

// Asks the terminal and the environment.
Look look_of(int descriptor);

}  // namespace millrace::screen
