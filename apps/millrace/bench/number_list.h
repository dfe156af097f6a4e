#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::bench {

// The integers of a list such as "1,8,32". Throws LoadError (kInvalidArgument) naming the flag if one is not in
// [min, max].
std::vector<std::int64_t> parse_numbers(const std::string& flag, const std::string& text, std::int64_t min,
                                        std::int64_t max);

// The words of a list such as "a,b". Throws LoadError (kInvalidArgument) naming the flag if one is empty.
std::vector<std::string> parse_words(const std::string& flag, const std::string& text);

}  // namespace millrace::bench
