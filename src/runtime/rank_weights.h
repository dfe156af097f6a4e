#pragma once

#include <cstdint>

#include "model/transformer.h"

namespace millrace::runtime {

// Bytes of the weights of a rank, or of several.
struct RankWeights {
  std::uint64_t packed = 0;  // all
  double each_step = 0.0;    // that every step reads
  double experts = 0.0;      // that steps read beside them if their rows choose all experts

  static RankWeights of(const model::Transformer& part) {
    constexpr double kAllRows = 1e9;
    const double each_step = part.weight_bytes(0);
    return {.packed = part.weight_bytes(), .each_step = each_step, .experts = part.weight_bytes(kAllRows) - each_step};
  }
  RankWeights& operator+=(const RankWeights& other) noexcept {
    packed += other.packed, each_step += other.each_step, experts += other.experts;
    return *this;
  }
};

template <typename Archive>
void visit_fields(Archive& archive, RankWeights& w) {
  archive(w.packed, w.each_step, w.experts);
}

}  // namespace millrace::runtime
