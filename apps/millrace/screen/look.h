#pragma once

#include <functional>

namespace millrace::screen {

// What the terminal at a file descriptor can show.
struct Look {
  bool terminal = false;  // false: a file or a pipe, which gets text as it is
  bool styles = false;    // escape codes for colours and bold; never without `terminal`
  bool ascii = true;      // the locale has no UTF-8: frames and bullets are drawn in ASCII
  // Width now, which a resize changes; 0 = unknown, lines are not wrapped.
  std::function<int()> columns = [] { return 0; };
};

// Asks the terminal and the environment: no styles where NO_COLOR is set and not empty, or TERM is unset or "dumb".
Look look_of(int descriptor);

}  // namespace millrace::screen
