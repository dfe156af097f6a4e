#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::text {

// SentencePiece's compiled normalization rules ("precompiled_charsmap"): strings and what they become. The file format
// is a length, a double array of 32-bit units (as darts-clone writes it) and strings that end with a NUL. Immutable.
class Charsmap {
 public:
  Charsmap() = default;  // no rules
  // Throws LoadError naming `field`.
  Charsmap(std::string_view blob, std::string_view field);

  struct Rule {
    std::size_t size = 0;   // bytes of the text that it replaces; 0 = there is none
    std::string_view text;  // valid UTF-8, at most kMaxRuleBytes
  };
  Rule longest(std::string_view text) const noexcept;   // that begins `text`
  Rule shortest(std::string_view text) const noexcept;  // likewise
  // Whether some rule replaces strings that begin with this byte.
  bool begins_rule(char byte) const noexcept { return first_[static_cast<unsigned char>(byte)]; }

  static constexpr std::size_t kMaxRuleBytes = 256;  // NFKC's longest is 33
  static constexpr std::size_t kMaxKeyBytes = 64;    // longer ones are not found; those of NFKC have up to 18

 private:
  template <typename Found>
  void search(std::string_view text, Found found) const noexcept;
  Rule rule(std::size_t size, std::uint32_t value) const noexcept;

  std::vector<std::uint32_t> units_;
  std::string texts_;  // ends with a NUL
  std::array<bool, 256> first_{};
};

}  // namespace millrace::text
