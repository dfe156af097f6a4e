#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// Adds --config and --print-config to a command, and gives each option that has no environment variable the variable
// MILLRACE_NAME. Must be called after all other options of the command are declared.
void declare_configuration(CLI::App& command);

// Reads the file that --config names into the variables bound to the options. Values from the command line and from
// environment variables take precedence. Must be called after parsing and before the values are used. Returns true if
// --print-config was given: the settings are then on stdout and the command must end. Throws LoadError naming file and
// option (kInvalidArgument). The limit of the file is 1 MiB.
bool apply_configuration(CLI::App& command);

}  // namespace millrace::app
