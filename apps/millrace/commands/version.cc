#include <fmt/core.h>

#include "cli.h"
#include "command.h"
#include "version_text.h"

namespace millrace::commands {

app::Command version() {
  return {.name = "version",
          .summary = "Print version, commit, compiler and instruction set",
          .configure = [](CLI::App&) -> std::function<int()> {
            return [] {
              fmt::print("{}\n", app::version_text());
              return 0;
            };
          },
          .example = "millrace version"};
}

}  // namespace millrace::commands
