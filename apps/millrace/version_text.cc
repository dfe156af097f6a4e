#include "version_text.h"

#include <fmt/core.h>

#include "base/cpu.h"
#include "runtime/build_name.h"

namespace millrace::app {

std::string version_text() {
  const std::string commit(runtime::build_commit());
  return fmt::format("millrace {} ({}, {}, {})", MILLRACE_VERSION,
                     commit.empty() ? "no commit known" : "commit " + commit, MILLRACE_BUILD, to_string(detect_isa()));
}

}  // namespace millrace::app
