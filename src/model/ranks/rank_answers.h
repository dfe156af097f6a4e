#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_archive.h"
#include "model/expert_use.h"
#include "model/ranks/rank_time.h"

namespace millrace::model {

// What ranks answer rank 0: to commands that make a store or name an adapter, to one that asks what was counted, and to
// each step. To one that reads a page they answer its bytes.

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
  std::uint64_t step = 0, command_key = 0;  // of the step, and of the bytes of its command
  std::uint64_t residual_key = 0;           // of the rows behind the rank's last layer, where the command asks for it
  RankTime time;                            // from its command to its report
  std::int64_t weight_rounds = 0;           // WeightWalk::rounds()
  std::string damage;                       // WeightWalk::damage()
  ExpertUse experts;                        // what the rows chose in the rank's layers
  struct Overflow {                         // backend::KvOverflow, heads as the whole model has them
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
  archive(r.step, r.command_key, r.residual_key, r.time, r.weight_rounds, r.damage, r.experts, r.overflows);
}

}  // namespace millrace::model
