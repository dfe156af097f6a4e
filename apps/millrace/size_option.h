#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace::app {

// Options that take a number of bytes. A value needs a unit: B, or k, M, G, T with or without B or iB, in any case;
// all are powers of 1024. Fractions are allowed (1.5GiB). Only 0 needs no unit. A plain number is refused: vLLM's
// --swap-space 4 means 4 GiB, and other programs take such a number for bytes.

// kInvalidArgument says what is wrong with the text and what to write instead; it does not name the option.
Result<std::uint64_t> parse_size(std::string_view text);
// "8MiB": in the largest unit in which the number is whole; "0" for 0. parse_size() reads it back.
std::string size_text(std::uint64_t bytes);

// Adds the option. `value` is its default; `set` gets a given value. Wrong values are errors of the parser.
CLI::Option* add_size_option(CLI::App& app, const std::string& names, std::uint64_t value,
                             std::function<void(std::uint64_t)> set, const std::string& help);
template <typename Bytes>
CLI::Option* add_size_option(CLI::App& app, const std::string& names, Bytes& bytes, const std::string& help) {
  return add_size_option(app, names, bytes, [&bytes](std::uint64_t value) { bytes = static_cast<Bytes>(value); }, help);
}

}  // namespace millrace::app
