#pragma once

#include <span>

#include "base/option_spec.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace::app {

// Adds the flag of an option. What is given goes into `values`, which outlives the parser; what is not, has no value
// there. Ranges are checked where the values are used (OptionValues::check), with the flag's name.
CLI::Option* declare_option(CLI::App& app, const OptionSpec& option, OptionValues& values);
void declare_options(CLI::App& app, std::span<const OptionSpec> options, OptionValues& values);

}  // namespace millrace::app
