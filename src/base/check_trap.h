#pragma once

#include <stdexcept>

namespace millrace {

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// While one is alive in a thread, a failed CHECK of that thread throws CheckFailure: for the simulator, which looks for
// broken invariants and says which run broke them. What it leaves behind must be neither used nor destroyed.
class CheckTrap {
 public:
  CheckTrap();
  ~CheckTrap();
  CheckTrap(const CheckTrap&) = delete;
  CheckTrap& operator=(const CheckTrap&) = delete;
};

}  // namespace millrace
