#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace millrace::app {

// The columns that help may take: COLUMNS if it is set to a number, else the width of the terminal on stdout, else 80;
// at least 20 and at most 4000.
std::size_t help_width();

// Writes --help of any command: description, usage, arguments, options under their headings (option_heading.h) in the
// order of declaration, each with its default, range, values and environment variable, then subcommands and the
// footer, which holds the example. No line is wider than `width`. Must be set on the root before it has subcommands,
// which inherit it.
std::shared_ptr<CLI::FormatterBase> help_page(std::size_t width);

}  // namespace millrace::app
