#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// Gives a command --config and --print-config, and each of its options a variable MILLRACE_NAME. After all others are
// declared.
void declare_configuration(CLI::App& command);

// Sets what neither the command line nor a variable has set from the file that --config names; then the options' own
// variables hold it. True: --print-config was given, and the settings are on stdout. Throws LoadError naming file and
// option.
bool apply_configuration(CLI::App& command);

}  // namespace millrace::app
