#include "option_flags.h"

#include <fmt/core.h>

#include "cli.h"

namespace millrace::app {

CLI::Option* declare_option(CLI::App& app, const OptionSpec& option, OptionValues& values) {
  const std::string flags = option.flag_names(), help(option.help);
  switch (option.kind) {
    case OptionSpec::Kind::kSwitch: {
      const std::string off = "!--no-" + option.flag_name();
      return app
          .add_flag_function(
              flags + "," + off, [&](std::int64_t count) { values.set(option.name, count > 0 ? 1.0 : 0.0); }, help)
          ->default_str(option.neutral != 0.0 ? "true" : "false");
    }
    case OptionSpec::Kind::kText:
      return app.add_option_function<std::string>(
          flags, [&](const std::string& value) { values.set(option.name, value); }, help);
    case OptionSpec::Kind::kWhole:
      return app
          .add_option_function<std::int64_t>(
              flags, [&](std::int64_t value) { values.set(option.name, static_cast<double>(value)); }, help)
          ->default_str(fmt::format("{}", option.neutral));
    case OptionSpec::Kind::kNumber:
      return app.add_option_function<double>(
                    flags, [&](double value) { values.set(option.name, value); }, help)
          ->default_str(fmt::format("{}", option.neutral));
  }
  return nullptr;
}

void declare_options(CLI::App& app, std::span<const OptionSpec> options, OptionValues& values) {
  for (const OptionSpec& option : options) declare_option(app, option, values);
}

}  // namespace millrace::app
