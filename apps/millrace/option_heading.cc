#include "option_heading.h"

#include "cli.h"

namespace millrace::app {

OptionHeading::OptionHeading(CLI::App& app, const std::string& heading)
    : app_(app), before_(app.option_defaults()->get_group()) {
  app.option_defaults()->group(heading);
}

OptionHeading::~OptionHeading() { app_.option_defaults()->group(before_); }

}  // namespace millrace::app
