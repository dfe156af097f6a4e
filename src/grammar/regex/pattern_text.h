#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "unicode/code_point_set.h"

namespace millrace::grammar {

// A regular expression while it is read, character by character. It keeps the first failure and then behaves as at its
// end. Positions are counted in characters.
class PatternText {
 public:
  explicit PatternText(std::u32string_view text) : text_(text) {}

  bool failed() const noexcept { return error_.has_value(); }
  const Error& error() const { return *error_; }
  template <typename... Args>
  void fail(ErrorCode code, std::size_t at, fmt::format_string<Args...> format, Args&&... args) {
    if (error_) return;
    error_ = make_error(code, "grammar", "the regex at position {}: {}", at,
                        fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void invalid(std::size_t at, fmt::format_string<Args...> format, Args&&... args) {
    fail(ErrorCode::kInvalidArgument, at, format, std::forward<Args>(args)...);
  }
  void unsupported(std::size_t at, std::string_view what) {
    fail(ErrorCode::kUnsupported, at, "{} cannot be said in a grammar", what);
  }

  std::size_t at() const noexcept { return at_; }
  void go_back(std::size_t at) noexcept { at_ = at; }
  bool at_end() const noexcept { return failed() || at_ >= text_.size(); }
  char32_t next() noexcept { return text_[at_++]; }  // not at the end
  bool next_is(char32_t c, std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() && text_[at_ + ahead] == c;
  }
  bool digit_ahead(std::size_t ahead) const noexcept;
  bool take(char32_t c) noexcept;  // consumes the character if it comes next
  bool take(std::u32string_view word) noexcept;

  std::optional<std::int64_t> number();  // decimal, limited to 10^12
  // Reads what follows the backslash at `at`: a character, or nothing and a class in `set`. \u of a lone surrogate is
  // that surrogate.
  std::optional<char32_t> escape(std::size_t at, unicode::CodePointSet& set);
  // Reads what follows the '[' at `at`, up to its ']'.
  unicode::CodePointSet character_class(std::size_t at, bool ignores_case);

 private:
  std::optional<char32_t> hex_escape(std::size_t at, char32_t kind);
  std::optional<char32_t> hex(std::size_t from, std::size_t digits) const;
  unicode::CodePointSet property_escape(std::size_t at, bool negated);
  void class_item(unicode::CodePointSet& set);
  std::optional<char32_t> class_character(unicode::CodePointSet& set);

  const std::u32string_view text_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
  std::map<std::string, std::optional<unicode::CodePointSet>> properties_;  // that were asked for
};

}  // namespace millrace::grammar
