#pragma once

#include <span>

#include "base/option_spec.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace::app {

// Adds the flag of an option to `app`. Parsing stores given values in `values`; an absent flag leaves no value there.
// `option` and `values` must outlive the parser. Ranges are not checked here: OptionValues::check() does that where the
// values are used.
CLI::Option* declare_option(CLI::App& app, const OptionSpec& option, OptionValues& values);
void declare_options(CLI::App& app, std::span<const OptionSpec> options, OptionValues& values);

}  // namespace millrace::app
