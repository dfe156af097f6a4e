#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace millrace {

// XXH3 of 64 bits (xxhash), against accidental damage and as a key of content; not secure against an adversary. Equal
// on all machines. About as fast as reading memory.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

inline std::uint64_t checksum(std::string_view text, std::uint64_t seed = 0) noexcept {
  return checksum(std::as_bytes(std::span(text.data(), text.size())), seed);
}

}  // namespace millrace
