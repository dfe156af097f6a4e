#pragma once

#include <cstddef>
#include <vector>

#include "simulator/fake_stamps.h"

namespace millrace::simulator {

// Ranks that share the fake model, as model::Shards divides it: `tensor` ranks in each of `stages`.
struct RankShape {
  int tensor = 1, stages = 1;
  std::vector<double> shares = {};  // of the ranks of a stage; empty: all alike
  int ranks() const noexcept { return tensor * stages; }
};

// Heads of the fake model that a rank has. The model has kFakeLayers layers of kFakeQueryHeads query heads, of which
// kReaders read a key head. Each key head of each layer keeps a byte of every stamp.
struct FakeHeads {
  std::vector<std::size_t> bytes;  // of a stamp, that its key heads keep; ascending
  Stamp once = 0, twice = 0;       // bits of a stamp that one of its query heads reads, and that two read
  Stamp kept() const noexcept { return once | twice; }
};
inline constexpr std::int64_t kFakeLayers = 4, kFakeQueryHeads = 4;

// The heads of each rank, by its number. One rank alone has all.
std::vector<FakeHeads> heads_of_ranks(const RankShape& shape);
// Bytes that a slot of a page has on all ranks together.
std::size_t slot_bytes(const RankShape& shape);

}  // namespace millrace::simulator
