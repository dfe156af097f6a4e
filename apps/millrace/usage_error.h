#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace millrace::app {

// One line that explains a parser error: the first unknown word, with the closest known name, or else the parser's own
// message.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace millrace::app
