#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace millrace::draft {

// Finds where in a growing text the last tokens of a sequence occurred before. Positions that follow on the same kGram
// tokens are chained, the latest first, as match finders of LZ77 do (RFC 1951 §4). It takes twelve bytes and a hash per
// token, a fifth of a suffix tree, and finds the same longest match among the last kChain places. One thread.
class SuffixIndex {
 public:
  static constexpr std::int64_t kGram = 3;      // minimum of equal tokens
  static constexpr std::int64_t kLongest = 32;  // maximum of equal tokens that are compared
  static constexpr int kChain = 64;             // maximum of places that are examined

  struct Match {
    std::int64_t next = 0;   // position of the token that follows the match
    std::int64_t alike = 0;  // number of equal tokens before it; [kGram, kLongest]
  };

  void append(std::span<const std::int32_t> tokens);
  std::span<const std::int32_t> tokens() const noexcept { return tokens_; }

  // Adds the places at which `tail` occurred with the longest match. `matches` holds places of one length only: they
  // are removed when a longer match is found, and shorter ones are not added.
  void find(std::span<const std::int32_t> tail, std::vector<Match>& matches) const;
  // Adds all places that are examined, whatever the length of their match, the latest first.
  void find_all(std::span<const std::int32_t> tail, std::vector<Match>& matches) const;

  // Forgets all tokens but the last `tokens`. O(tokens kept).
  void keep_last(std::int64_t tokens);

 private:
  template <typename Use>
  void look_up(std::span<const std::int32_t> tail, Use use) const;

  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> before_;                         // by position: the one before it in its chain, or -1
  std::unordered_map<std::uint64_t, std::int32_t> last_of_;  // by hash of the kGram tokens before
};

}  // namespace millrace::draft
