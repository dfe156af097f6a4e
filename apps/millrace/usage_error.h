#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace millrace::app {

// One line that says what is wrong with the command line on which `app` gave `error`: the first word it does not know,
// with the name meant if one is near, else the parser's own message.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace millrace::app
