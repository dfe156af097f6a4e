#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/worker_team.h"

namespace millrace::backend::cpu {

// Checksums of packed weights, of each part of them: how a file of them is found damaged, and memory in which bits have
// changed since. A part is small, so that looking at one in each worker delays a step by little.
inline constexpr std::size_t kPartBytes = std::size_t{256} << 10;

// How many parts so many bytes have; the last one may be smaller.
constexpr std::size_t count_parts(std::size_t bytes) noexcept { return (bytes + kPartBytes - 1) / kPartBytes; }
std::span<std::byte> part_of(std::span<std::byte> bytes, std::size_t part) noexcept;
std::uint64_t part_checksum(std::span<const std::byte> part) noexcept;
// The checksums of all parts, divided among the workers.
std::vector<std::uint64_t> part_checksums(std::span<std::byte> bytes, WorkerTeam& team);

}  // namespace millrace::backend::cpu
