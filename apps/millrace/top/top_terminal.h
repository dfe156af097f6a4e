#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace millrace::app {

enum class TopKey { kNone, kQuit, kUp, kDown, kSort };

// The terminal while `millrace top` has it: keys come at once and unseen, on the alternate screen where it can clear.
// The destructor restores what was. One at a time, one thread.
class TopTerminal {
 public:
  // `keys`: reads keys from stdin, which must be a terminal then.
  explicit TopTerminal(bool keys);
  ~TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  std::size_t columns() const;  // at least 20
  std::size_t rows() const;     // at least 5
  void draw(const std::vector<std::string>& lines) const;
  // The next key, for which it waits so long; kNone: none came, or a signal did.
  TopKey wait_key(int milliseconds);

 private:
  const bool keys_;
  termios before_{};
  std::string typed_;  // what was read and is no key yet
};

}  // namespace millrace::app
