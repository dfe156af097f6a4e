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

// Number of repetitions; most -1: no upper limit.
struct Counts {
  std::int64_t least = 1, most = 1;
};

// The text of a grammar in EBNF while it is read, character by character, with line numbers. It keeps the first failure
// and then behaves as at its end, so that readers need not check each call.
class GrammarText {
 public:
  struct Place {
    std::size_t at = 0;
    int line = 1;
  };

  // `comments` are the strings that begin a comment, which ends with its line.
  GrammarText(std::string_view text, std::vector<std::string_view> comments, const WorkLimits& limits);

  bool failed() const noexcept { return error_.has_value(); }
  const Error& error() const { return *error_; }
  // Records a failure whose message begins with the current line.
  template <typename... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    fail_as(ErrorCode::kInvalidArgument, place_.line, fmt::format(format, std::forward<Args>(args)...));
  }
  void unsupported(std::string_view what);  // fails with "... cannot be said in a grammar"
  void fail_as(ErrorCode code, int line, std::string message);
  void unexpected();              // fails on the next character
  void keep(const Error& error);  // of a part that another reader parsed; its message gets the line

  Place place() const noexcept { return place_; }
  void go_back(Place place) noexcept { place_ = place; }
  bool at_end() const noexcept { return place_.at >= text_.size() || failed(); }
  char peek(std::size_t ahead = 0) const noexcept;  // '\0' beyond the end
  bool take(std::string_view word);                 // consumes the word if it comes next
  void skip_spaces();                               // skips comments too; stays within the line
  void skip_lines();                                // skips spaces and comments too

  std::string_view name();                  // letters, digits, '_' and '-'; empty if there is none
  std::optional<std::int64_t> number();     // decimal; fails if it exceeds limits.repeat
  std::optional<Counts> counts();           // after '{': n} n,} ,m} n,m}; nothing if it is none of these
  Counts checked(Counts counts);            // fails unless least <= most
  char32_t character(bool escapes = true);  // one, directly or as an escape; not at the end
  std::string quoted();                     // after the opening '"', up to the closing one
  std::string until_end(char end);          // as written, up to that character; an escaped one does not count
  std::string_view rest() const noexcept { return text_.substr(place_.at); }
  void advance(std::size_t bytes);

  // Counts nested groups. enter() fails and returns false if there are more than limits.depth.
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
