#pragma once

#include <span>

#include "base/option_spec.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace::app {

// Declares an option's flag. A given value is stored in `values`, which must outlive the parser. OptionValues::check()
// checks ranges later, and its errors name the flag.
CLI::Option* declare_option(CLI::App& app, const OptionSpec& option, OptionValues& values);
void declare_options(CLI::App& app, std::span<const OptionSpec> options, OptionValues& values);

}  // namespace millrace::app
