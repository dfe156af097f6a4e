#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace millrace {

// 64 bits against accidental damage and as a key of content; not against an adversary. The same on every machine of one
// byte order; about as fast as memory.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

inline std::uint64_t checksum(std::string_view text, std::uint64_t seed = 0) noexcept {
  return checksum(std::as_bytes(std::span(text.data(), text.size())), seed);
}

}  // namespace millrace
