#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace::app {

// What help and completion say of an option besides its description, read from its declaration.

// "-t, --threads N": all names, and what stands for the value if it takes one.
std::string option_names(const CLI::Option& option);
// "MODEL": how a positional argument is written; with "..." if there may be several.
std::string argument_name(const CLI::Option& option);
// The values that a check admits, or that the type "{auto,off}" names; empty: any, or not known.
std::vector<std::string> listed_values(const CLI::Option& option);
// The type of values that are none of the listed ones: "MODEL", "FILE", "SIZE", "N"; "" for a switch.
std::string value_type(const CLI::Option& option);
// Default, range, values and environment variable, separated by semicolons, without what the description says already;
// "" if there is nothing to say. `app` is the command that has the option.
std::string option_notes(const CLI::Option& option, const CLI::App& app);
// The environment variable that commands with --config give an option: "MILLRACE_MAX_NUM_SEQS".
std::string own_variable(const CLI::Option& option);

}  // namespace millrace::app
