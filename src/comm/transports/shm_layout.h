#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millrace::comm {

// What a rank tells the others. Only the rank itself writes it, but for `sleepers` and `answers_read`.
struct alignas(128) ShmRank {
  std::atomic<std::uint64_t> published;  // blocks
  std::atomic<std::uint32_t> process;    // 0: it has not joined
  std::atomic<std::uint32_t> changes;    // a futex, for those that sleep until something of this rank changes
  std::atomic<std::uint32_t> sleepers;
  // Bytes of messages.
  alignas(64) std::atomic<std::uint64_t> commands;   // written by the leader, read by others
  std::atomic<std::uint64_t> answers, answers_read;  // the leader writes the second
  std::atomic<std::uint64_t> passed, taken;          // to the next stage, from the one before
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// A segment: this, a ShmRank each, the ring of commands, a ring of answers and one of what is passed on for each rank,
// and the memory of each stage; each on a page of its own.
struct ShmHeader {
  static constexpr std::uint64_t kMagic = 0x32'6d'68'73'72'6c'6c'6d;  // "mllrshm2"
  static constexpr std::size_t kPage = 4096;
  static constexpr std::uint32_t kMaxRanks = 4096;

  std::uint64_t magic;
  std::uint32_t ranks, rank_bytes;  // rank_bytes: sizeof(ShmRank), of the one who made it
  std::uint32_t stages, leader;     // leader: the process that made it
  std::uint64_t command_bytes, answer_bytes, pass_bytes, memory_bytes;

  static constexpr std::size_t pages(std::size_t bytes) noexcept { return (bytes + kPage - 1) / kPage * kPage; }
  std::size_t ranks_at() const noexcept { return kPage; }
  std::size_t commands_at() const noexcept { return ranks_at() + pages(ranks * sizeof(ShmRank)); }
  std::size_t answers_at(std::uint64_t rank) const noexcept {
    return commands_at() + pages(command_bytes) + rank * pages(answer_bytes);
  }
  std::size_t passed_at(std::uint64_t rank) const noexcept { return answers_at(ranks) + rank * pages(pass_bytes); }
  std::size_t memory_at(std::uint64_t stage) const noexcept { return passed_at(ranks) + stage * pages(memory_bytes); }
  std::size_t bytes() const noexcept { return memory_at(stages); }
};

}  // namespace millrace::comm
