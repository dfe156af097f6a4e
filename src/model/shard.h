#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kv/kv_groups.h"
#include "model/block.h"
#include "model/model_spec.h"

namespace millrace::model {

class Shards;

// Which part of a model a process computes.
struct RankShards {
  std::shared_ptr<const Shards> shards;  // null: all of it
  int rank = 0;
};

// How the ranks of a tensor-parallel group share a model: by output rows alone, so that every output remains one chain
// of additions and any number of ranks gives the bits of one. Whole heads, groups of 32 hidden values and panels of 16
// rows of the residual and the vocabulary are never cut. A key head whose query heads are of two ranks is of both. What
// does not divide goes to other ranks from layer to layer, so that no rank has more of all layers than it should.
class Shards {
 public:
  // Ranks get parts in proportion to `shares`, their speeds in any unit, at least one. kInvalidArgument naming
  // tensor-parallel-size where a layer has fewer query heads than there are ranks, or tensor-parallel-shares where a
  // share is no number above 0.
  static Result<Shards> make(const ModelSpec& spec, std::span<const double> shares);

  int ranks() const noexcept { return static_cast<int>(until_.size()); }
  // A part of 1.
  double share(int rank) const noexcept {
    const auto i = static_cast<std::size_t>(rank);
    return until_[i] - (rank == 0 ? 0.0 : until_[i - 1]);
  }
  // The rows that a rank has of a weight of that layer; of weights outside the layers, those of layer 0.
  RowRange rows(const BlockWeight& weight, std::int64_t layer, int rank) const noexcept;
  // [ranks + 1]: rank r has the rows [i, i + 1) of these; key heads that two ranks have are counted with the first.
  std::vector<std::int64_t> borders(const BlockWeight& weight, std::int64_t layer) const;
  // The heads of attention with so many query heads, `group` of which share a key head.
  RowRange query_heads(std::int64_t heads, std::int64_t layer, int rank) const noexcept;
  RowRange key_heads(std::int64_t heads, std::int64_t group, std::int64_t layer, int rank) const noexcept;
  // What its layers keep of a token: model::kv_needs() with the key heads of the rank.
  std::vector<kv::KvNeed> kv_needs(const ModelSpec& spec, int rank) const;

 private:
  explicit Shards(std::vector<double> until) : until_(std::move(until)) {}
  // The part that a rank has of n units, of which each rank has `least`.
  RowRange part(std::int64_t n, std::int64_t least, std::int64_t layer, int rank) const noexcept;

  std::vector<double> until_;  // the shares of each rank and of those before it, of 1
};

}  // namespace millrace::model
