#pragma once

#include <string>

namespace CLI {
class App;
}

namespace millrace::app {

// Options that are declared on `app` while it lives stand under `heading` in --help. It must not outlive `app`.
class OptionHeading {
 public:
  OptionHeading(CLI::App& app, const std::string& heading);
  ~OptionHeading();
  OptionHeading(const OptionHeading&) = delete;
  OptionHeading& operator=(const OptionHeading&) = delete;

 private:
  CLI::App& app_;
  const std::string before_;
};

}  // namespace millrace::app
