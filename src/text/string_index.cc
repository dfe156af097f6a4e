#include "text/string_index.h"

#include <bit>
#include <cstring>

namespace millrace::text {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio

std::uint32_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size() * kMultiplier;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  }
  std::uint64_t tail = 0;
  for (std::size_t i = 0; i < left; ++i) tail = tail << 8 | static_cast<unsigned char>(at[i]);
  hash = (hash ^ tail) * kMultiplier;
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

void StringTable::reserve(std::size_t strings, std::size_t bytes) {
  ends_.reserve(strings + 1);
  arena_.reserve(bytes);
}

void StringTable::push_back(std::string_view text) {
  arena_.append(text);
  ends_.push_back(static_cast<std::uint32_t>(arena_.size()));
}

void StringIndex::reserve(std::size_t strings) {
  const std::size_t wanted = std::bit_ceil(strings * 2 + 16);
  if (used_ == 0 && wanted > slots_.size()) slots_.assign(wanted, Slot{});
}

void StringIndex::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.empty() ? 16 : old.size() * 2, Slot{});
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

bool StringIndex::insert(const StringTable& table, TokenId id) {
  const std::string_view text = table[static_cast<std::size_t>(id)];
  if (text.empty()) return false;
  if ((used_ + 1) * 2 > slots_.size()) grow();
  const std::uint32_t hash = hash_of(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id >= 0) {
    if (slots_[at].hash == hash && table[static_cast<std::size_t>(slots_[at].id)] == text) return false;
    at = (at + 1) & mask;
  }
  slots_[at] = {hash, id};
  ++used_;
  return true;
}

TokenId StringIndex::find(const StringTable& table, std::string_view text) const noexcept {
  if (slots_.empty() || text.empty()) return -1;
  const std::uint32_t hash = hash_of(text);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at].id >= 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && table[static_cast<std::size_t>(slots_[at].id)] == text) return slots_[at].id;
  }
  return -1;
}

}  // namespace millrace::text
