#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace millrace::draft {

// Finds where in a growing text the last tokens of a sequence were before. Positions with the same kGram tokens before
// them are chained, the last one first, as match finders of LZ77 do (RFC 1951 §4): twelve bytes and a hash a token,
// where a suffix tree takes five times that, for the same longest match among the kChain last places.
class SuffixIndex {
 public:
  static constexpr std::int64_t kGram = 3;      // tokens alike at least
  static constexpr std::int64_t kLongest = 32;  // and looked at at most
  static constexpr int kChain = 64;             // places looked at

  struct Match {
    std::int64_t next = 0;   // position of what follows
    std::int64_t alike = 0;  // [kGram, kLongest]
  };

  void append(std::span<const std::int32_t> tokens);
  std::span<const std::int32_t> tokens() const noexcept { return tokens_; }

  // Adds the places after which `tail` was, those of the longest match only, to `matches`, whose own are all of one
  // length: all go when a longer one is found.
  void find(std::span<const std::int32_t> tail, std::vector<Match>& matches) const;
  // Adds all that are looked at, the last one first.
  void find_all(std::span<const std::int32_t> tail, std::vector<Match>& matches) const;

  // Forgets all but the last tokens. O(tokens kept).
  void keep_last(std::int64_t tokens);

 private:
  template <typename Use>
  void look_up(std::span<const std::int32_t> tail, Use use) const;

  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> before_;                         // by position: the one before it in its chain, or -1
  std::unordered_map<std::uint64_t, std::int32_t> last_of_;  // by hash of the kGram tokens before
};

}  // namespace millrace::draft
