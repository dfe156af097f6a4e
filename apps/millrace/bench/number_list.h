#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::bench {

// Parses "1,8,32" as numbers in [min, max]; throws LoadError (kInvalidArgument) naming the flag.
std::vector<std::int64_t> parse_numbers(const std::string& flag, const std::string& text, std::int64_t min,
                                        std::int64_t max);

// Splits "a,b"; throws LoadError naming the flag if a part is empty.
std::vector<std::string> parse_words(const std::string& flag, const std::string& text);

}  // namespace millrace::bench
