#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace millrace::app {

// A one-line message for the command line on which `app` raised `error`. It names the first unknown word, and a flag or
// command of a similar name if there is one. Without an unknown word it has the parser's message. The caller must
// escape the message (printable()) before it is printed.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace millrace::app
