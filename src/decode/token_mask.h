#pragma once

#include <cstdint>
#include <span>

namespace millrace::decode {

// Which tokens may come next, as a grammar says: bit t % 64 of word t / 64, and none beyond the words. Not owned.
struct TokenMask {
  std::span<const std::uint64_t> words;

  bool allows(std::int32_t token) const noexcept {
    const auto word = static_cast<std::size_t>(token) / 64;
    return word < words.size() && (words[word] >> (token % 64) & 1) != 0;
  }
};

}  // namespace millrace::decode
