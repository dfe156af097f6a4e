#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// Adds --config and --print-config to a command, and an environment variable MILLRACE_NAME to each of its options. Call
// it after all other options are declared.
void declare_configuration(CLI::App& command);

// Sets options that neither the command line nor the environment has set from the file of --config. Returns true if
// --print-config was given; the settings are on stdout then. Throws LoadError naming file and option.
bool apply_configuration(CLI::App& command);

}  // namespace millrace::app
