#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/string_index.h"

namespace millrace::text {

// Strings in a double-array trie over their bytes (Aoe, IEEE TSE 15(9), 1989): one load per step. Immutable.
class ByteTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kNone = UINT32_MAX;
  static constexpr Node kRoot = 0;

  ByteTrie() : ByteTrie(StringTable()) {}
  // The non-empty strings of the table with their indices; of equal ones the last. Throws LoadError naming tokens if
  // one is longer than kMaxKeyBytes, or if there are more than kMaxNodes distinct prefixes.
  explicit ByteTrie(const StringTable& keys);

  Node step(Node node, char byte) const noexcept {
    const Node next = units_[node].base + static_cast<unsigned char>(byte);
    return units_[next].parent == node ? next : kNone;
  }
  Node walk(Node node, std::string_view bytes) const noexcept;            // `node` may be kNone
  TokenId token(Node node) const noexcept { return units_[node].token; }  // -1: no string ends here
  TokenId find(std::string_view text) const noexcept;                     // -1 if absent
  // The size in bytes of the longest string that is a prefix of `text`; 0 = none is.
  std::size_t longest_prefix(std::string_view text) const noexcept;

  static constexpr std::size_t kMaxKeyBytes = 1024;
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 24;

 private:
  // A free unit has no parent; its base and token are the free units after and before it.
  struct Unit {
    std::uint32_t base = 0;
    Node parent = kNone;
    std::int32_t token = -1;
  };
  friend class ByteTrieBuilder;

  std::vector<Unit> units_;
};

}  // namespace millrace::text
