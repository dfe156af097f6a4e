#pragma once

#include <stdexcept>

namespace millrace {

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// While an object of this class exists in a thread, a failed CHECK in that thread throws CheckFailure. For the
// simulator, which reports the run that broke an invariant. Objects involved in the failure must be neither used nor
// destroyed.
class CheckTrap {
 public:
  CheckTrap();
  ~CheckTrap();
  CheckTrap(const CheckTrap&) = delete;
  CheckTrap& operator=(const CheckTrap&) = delete;
};

}  // namespace millrace
