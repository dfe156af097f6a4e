#include "bench/number_list.h"

#include <charconv>

#include "base/error.h"

namespace millrace::bench {

std::vector<std::string> parse_words(const std::string& flag, const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, comma - at));
    if (words.back().empty()) {
      throw_load_error(ErrorCode::kInvalidArgument, flag, "{} is '{}': expected values with commas between them", flag,
                       text);
    }
    at = comma + 1;
  }
  return words;
}

std::vector<std::int64_t> parse_numbers(const std::string& flag, const std::string& text, std::int64_t min,
                                        std::int64_t max) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : parse_words(flag, text)) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < min || value > max) {
      throw_load_error(ErrorCode::kInvalidArgument, flag, "{} is '{}': '{}' is no number from {} to {}", flag, text,
                       word, min, max);
    }
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace millrace::bench
