#include "base/strict_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace millrace {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kDigitsOfLargestDouble = 309;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_number_part(char c) { return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'; }

// What RFC 8259 calls a number.
struct NumberParts {
  bool valid = false;
  bool integer = false;  // neither fraction nor exponent
};

NumberParts split(std::string_view token) {
  std::size_t at = token.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < token.size() && is_digit(token[at])) ++at;
    return at - begin;
  };
  const auto has = [&](char a, char b) { return at < token.size() && (token[at] == a || token[at] == b); };
  const bool zero = has('0', '0');
  const std::size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return {};
  NumberParts parts{.valid = true, .integer = at == token.size()};
  if (has('.', '.')) {
    ++at;
    parts.valid = digits() > 0;
  }
  if (has('e', 'E')) {
    ++at;
    if (has('+', '-')) ++at;
    parts.valid = parts.valid && digits() > 0;
  }
  parts.valid = parts.valid && at == token.size();
  return parts;
}

bool fits_64_bits(std::string_view integer) {
  const char* begin = integer.data();
  const char* end = begin + integer.size();
  std::int64_t narrow = 0;
  std::uint64_t wide = 0;
  return std::from_chars(begin, end, narrow).ec == std::errc() || std::from_chars(begin, end, wide).ec == std::errc();
}

std::string named_float(std::string_view name) {
  return std::string("{\"").append(kFloatKey).append("\":\"").append(name).append("\"}");
}

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : rest_(text) { out_.reserve(text.size() + 64); }

  std::string run() {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
    while (!rest_.empty()) {
      if (rest_.front() == '"') {
        string();
      } else if (replace("NaN") || replace("Infinity") || replace("-Infinity")) {
      } else if (is_digit(rest_.front()) || rest_.front() == '-') {
        number();
      } else {
        keep(1);
      }
    }
    return std::move(out_);
  }

 private:
  void keep(std::size_t bytes) {
    out_.append(rest_.substr(0, bytes));
    rest_.remove_prefix(std::min(bytes, rest_.size()));
  }

  bool replace(std::string_view name) {
    if (!rest_.starts_with(name)) return false;
    out_ += named_float(name);
    rest_.remove_prefix(name.size());
    return true;
  }

  void string() {
    keep(1);
    while (!rest_.empty()) {
      const std::size_t plain = std::min(rest_.find_first_of("\"\\"), rest_.size());
      keep(plain);
      if (rest_.empty()) return;
      if (rest_.front() == '"') return keep(1);
      escape();
    }
  }

  // The UTF-16 unit of an escape "\uXXXX" at `at`.
  std::optional<std::uint32_t> unit(std::size_t at) const {
    if (rest_.size() < at + 6 || rest_.substr(at, 2) != "\\u") return std::nullopt;
    std::uint32_t value = 0;
    const char* end = rest_.data() + at + 6;
    const auto [stop, error] = std::from_chars(rest_.data() + at + 2, end, value, 16);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
  }

  void escape() {
    const auto first = unit(0), second = unit(6);
    if (!first || *first < 0xD800 || *first > 0xDFFF) return keep(2);
    if (*first < 0xDC00 && second && *second >= 0xDC00 && *second <= 0xDFFF) return keep(12);
    out_ += "\\ufffd";
    rest_.remove_prefix(6);
  }

  void number() {
    const auto end = std::ranges::find_if_not(rest_, is_number_part);
    const auto token = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    const NumberParts parts = split(token);
    if (!parts.valid || (parts.integer && fits_64_bits(token))) return keep(token.size());
    if (parts.integer && token.size() > kDigitsOfLargestDouble + 1) return overflow(token);
    if (std::isinf(std::strtod(std::string(token).c_str(), nullptr))) return overflow(token);
    keep(token.size());
    if (parts.integer) out_ += ".0";
  }

  void overflow(std::string_view token) {
    out_ += named_float(token.front() == '-' ? "-Infinity" : "Infinity");
    rest_.remove_prefix(token.size());
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::string strict_json(std::string_view text) { return Rewriter(text).run(); }

}  // namespace millrace
