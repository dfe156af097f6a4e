#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::text {

// SentencePiece's compiled normalization rules ("precompiled_charsmap"), which map strings to strings. The file format
// is a length, a double array of 32-bit units (as darts-clone writes it), and strings that end with NUL. Immutable.
class Charsmap {
 public:
  Charsmap() = default;  // no rules
  // Parses the table. Throws LoadError naming `field`.
  Charsmap(std::string_view blob, std::string_view field);

  struct Rule {
    std::size_t size = 0;   // bytes of the text that it replaces; 0 = no rule
    std::string_view text;  // valid UTF-8, at most kMaxRuleBytes
  };
  Rule longest(std::string_view text) const noexcept;   // rule with the longest match at the beginning of `text`
  Rule shortest(std::string_view text) const noexcept;  // rule with the shortest match at the beginning of `text`
  bool empty() const noexcept { return units_.empty(); }
  // Whether a rule that matches only ASCII begins with this ASCII character. (Rules for letters with marks begin with
  // most of them.)
  bool changes_ascii(char32_t character) const noexcept;

  static constexpr std::size_t kMaxRuleBytes = 256;  // the longest of NFKC has 33
  static constexpr std::size_t kMaxKeyBytes = 64;    // longer keys are not found; those of NFKC have up to 18

 private:
  template <typename Found>
  void search(std::string_view text, Found found) const noexcept;
  Rule rule(std::size_t size, std::uint32_t value) const noexcept;

  std::vector<std::uint32_t> units_;
  std::string texts_;  // ends with a NUL
};

}  // namespace millrace::text
