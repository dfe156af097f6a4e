#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// How often something may come: most -1 for any number.
struct Counts {
  std::int64_t least = 1, most = 1;
};

// The text of a grammar in EBNF while it is read, character by character, with the line where it stands. The first
// failure is kept, and after it the text is at its end: readers go on without asking, and ask once.
class GrammarText {
 public:
  struct Place {
    std::size_t at = 0;
    int line = 1;
  };

  // `comments`: what begins a comment, which ends with its line.
  GrammarText(std::string_view text, std::vector<std::string_view> comments, const WorkLimits& limits);

  bool failed() const noexcept { return error_.has_value(); }
  const Error& error() const { return *error_; }
  // The message begins with the line.
  template <typename... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    fail_as(ErrorCode::kInvalidArgument, place_.line, fmt::format(format, std::forward<Args>(args)...));
  }
  void unsupported(std::string_view what);  // "... cannot be said in a grammar"
  void fail_as(ErrorCode code, int line, std::string message);
  void unexpected();              // the next character
  void keep(const Error& error);  // of a part that another reader reads; its message gets the line

  Place place() const noexcept { return place_; }
  void go_back(Place place) noexcept { place_ = place; }
  bool at_end() const noexcept { return place_.at >= text_.size() || failed(); }
  char peek(std::size_t ahead = 0) const noexcept;  // '\0' beyond the end
  bool take(std::string_view word);                 // if it comes next
  void skip_spaces();                               // and comments, within the line
  void skip_lines();                                // and spaces and comments

  std::string_view name();                  // letters, digits, '_' and '-'; empty where none stands
  std::optional<std::int64_t> number();     // decimal; more than limits.repeat fails
  std::optional<Counts> counts();           // behind '{': n} n,} ,m} n,m}; none: no count stands there
  Counts checked(Counts counts);            // least <= most, or fails
  char32_t character(bool escapes = true);  // one, by itself or by an escape; not at the end
  std::string quoted();                     // behind the opening '"', up to the closing one
  std::string until_end(char end);          // as written up to that character, which an escape hides
  std::string_view rest() const noexcept { return text_.substr(place_.at); }
  void advance(std::size_t bytes);

  // Counts nested groups: false and a failure at more than limits.depth.
  bool enter();
  void leave() noexcept { --depth_; }

 private:
  char32_t escape();

  const std::string_view text_;
  const std::vector<std::string_view> comments_;
  const WorkLimits& limits_;
  Place place_;
  int depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace millrace::grammar
