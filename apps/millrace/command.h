#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace millrace::app {

// A subcommand: one file in commands/, found by CMake. `configure` declares its flags and returns what to run once they
// are parsed; the return value is the exit code. LoadError may be thrown: main prints it and exits with its code.
struct Command {
  std::string_view name, summary;
  std::function<int()> (*configure)(CLI::App& app);
  std::string_view log_level = "warn";  // default of --log-level
};
std::span<const Command> all_commands();        // generated
std::span<const Command> all_bench_commands();  // subcommands of `bench`, in bench/commands/; generated

}  // namespace millrace::app
