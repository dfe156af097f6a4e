#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_archive.h"
#include "base/checksum.h"
#include "model/expert_use.h"
#include "model/ranks/rank_time.h"

namespace millrace::model {

// What ranks answer rank 0: to commands that make a store or name an adapter, to one that asks what was counted, and to
// each step. To one that reads a page they answer its bytes. Behind each of these stands the key of all commands that
// the rank has followed so far: one that was lost or doubled is found with the next answer.

// A number behind the bytes of a message.
inline void append_number(std::vector<std::byte>& message, std::uint64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  message.insert(message.end(), bytes.begin(), bytes.end());
}
// The number, which is no more in the message then; nothing: the message is too short.
inline std::optional<std::uint64_t> take_number(std::vector<std::byte>& message) {
  std::uint64_t number = 0;
  if (message.size() < sizeof(number)) return std::nullopt;
  std::memcpy(&number, message.data() + message.size() - sizeof(number), sizeof(number));
  message.resize(message.size() - sizeof(number));
  return number;
}

// The key of all commands with one more; that of none is 0.
inline std::uint64_t next_commands_key(std::uint64_t before, std::span<const std::byte> command) noexcept {
  return checksum(command, before);
}

struct RankStoreMade {
  bool made = false;                        // if not, its memory is too short
  std::uint64_t page = 0, window_page = 0;  // bytes of one
};

struct RankAdapterRead {
  bool read = false;
  std::string error = {};  // if not, why
};

struct RankCounts {  // backend::RoundingStatistics
  struct OfWeight {
    std::string weight;
    std::int64_t outputs = 0, moved = 0;
  };
  std::vector<OfWeight> weights;
};

struct RankReport {
  std::uint64_t step = 0;          // its number
  std::uint64_t residual_key = 0;  // of the rows behind the rank's last layer, where the command asks for it
  RankTime time;                   // from its command to its report
  std::int64_t weight_rounds = 0;  // WeightWalk::rounds()
  std::string damage;              // WeightWalk::damage()
  ExpertUse experts;               // what the rows chose in the rank's layers
  struct Overflow {                // backend::KvOverflow, heads as the whole model has them
    std::int64_t layer = 0, head = 0, position = 0;
    std::int32_t page = 0;
    bool of_key = false;
    float value = 0.0f;
    std::string encoding;
  };
  std::vector<Overflow> overflows;
};

template <typename Archive>
void visit_fields(Archive& archive, RankStoreMade& m) {
  archive(m.made, m.page, m.window_page);
}
template <typename Archive>
void visit_fields(Archive& archive, RankAdapterRead& r) {
  archive(r.read, r.error);
}
template <typename Archive>
void visit_fields(Archive& archive, RankCounts::OfWeight& w) {
  archive(w.weight, w.outputs, w.moved);
}
template <typename Archive>
void visit_fields(Archive& archive, RankCounts& c) {
  archive(c.weights);
}
template <typename Archive>
void visit_fields(Archive& archive, RankReport::Overflow& o) {
  archive(o.layer, o.head, o.position, o.page, o.of_key, o.value, o.encoding);
}
template <typename Archive>
void visit_fields(Archive& archive, RankReport& r) {
  archive(r.step, r.residual_key, r.time, r.weight_rounds, r.damage, r.experts, r.overflows);
}

}  // namespace millrace::model
