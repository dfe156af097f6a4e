#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/check_trap.h"

namespace millrace {
namespace {

thread_local int traps = 0;

}  // namespace

CheckTrap::CheckTrap() { ++traps; }
CheckTrap::~CheckTrap() { --traps; }

namespace internal {

void check_failed(const char* file, int line, const char* expression, const std::string& values) {
  const std::string what =
      std::string(file) + ":" + std::to_string(line) + ": " + expression + (values.empty() ? "" : ": ") + values;
  if (traps > 0) throw CheckFailure(what);
  std::fprintf(stderr, "CHECK failed at %s\n", what.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace internal
}  // namespace millrace
