#pragma once

#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace millrace::app {

// Messages of one line for a wrong command line. The caller must escape them (printable()) before they are printed.

// For `arguments`, without the program's name, on which `app` raised `error`. The message names the first unknown word
// and what was meant: a flag or command of a similar name, or what millrace has instead of an option of another program
// (foreign_names.h). Without an unknown word it has the parser's message.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error, std::span<const std::string> arguments);

// The message for an option of another program that the parser would take for --help: -hf. To be asked before parsing.
std::optional<std::string> hidden_option(const CLI::App& app, std::span<const std::string> arguments);

}  // namespace millrace::app
