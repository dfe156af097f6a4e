#include <cstdio>

#include "base/cpu.h"
#include "cli.h"
#include "command.h"

namespace millrace::commands {

app::Command version() {
  return {.name = "version", .summary = "Print the version", .configure = [](CLI::App&) -> std::function<int()> {
            return [] {
              std::printf("millrace %s (%s, %s)\n", MILLRACE_VERSION, MILLRACE_BUILD,
                          std::string(to_string(detect_isa())).c_str());
              return 0;
            };
          }};
}

}  // namespace millrace::commands
