#include "backend/cpu/part_checksums.h"

#include <algorithm>

#include "base/checksum.h"

namespace millrace::backend::cpu {

std::span<std::byte> part_of(std::span<std::byte> bytes, std::size_t part) noexcept {
  const std::size_t first = part * kPartBytes;
  return bytes.subspan(first, std::min(kPartBytes, bytes.size() - first));
}

std::uint64_t part_checksum(std::span<const std::byte> part) noexcept { return checksum(part, kPartBytes); }

std::vector<std::uint64_t> part_checksums(std::span<std::byte> bytes, WorkerTeam& team) {
  std::vector<std::uint64_t> sums(count_parts(bytes.size()));
  team.split(std::ssize(sums), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      sums[i] = part_checksum(part_of(bytes, i));
    }
  });
  return sums;
}

}  // namespace millrace::backend::cpu
