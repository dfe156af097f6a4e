#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kv/kv_groups.h"
#include "model/block.h"
#include "model/model_spec.h"

namespace millrace::model {

// kInvalidArgument naming the flag where one of these speeds is no number above 0.
Result<void> check_shares(const char* flag, std::span<const double> shares);

// How the ranks of a tensor-parallel group share a model: by output rows alone, so that every output remains one chain
// of additions and any number of ranks gives the bits of one. Whole heads, groups of 32 hidden values and panels of 16
// rows of the residual and the vocabulary are never cut. A key head whose query heads are of two ranks is of both. What
// does not divide goes to other ranks from layer to layer, so that no rank has more of all layers than it should.
class Shards {
 public:
  // The ranks of a stage get parts in proportion to `shares`, their speeds in any unit, at least one. Stages one behind
  // the other have layers each, so that the slowest is as fast as possible: what it multiplies with, divided by its
  // speed of `stage_shares`. Rank r is the one of place r % (ranks of a stage) in stage r / (ranks of a stage).
  // kInvalidArgument naming tensor-parallel-size where a layer has fewer query heads than there are ranks,
  // pipeline-parallel-size where there are fewer layers than stages, or tensor-parallel-shares or
  // pipeline-parallel-shares where one is no number above 0.
  static Result<Shards> make(const ModelSpec& spec, std::span<const double> shares,
                             std::span<const double> stage_shares);
  // The same with stages of one speed.
  static Result<Shards> make(const ModelSpec& spec, std::span<const double> shares, int stages = 1) {
    return make(spec, shares, std::vector<double>(static_cast<std::size_t>(std::max(stages, 0)), 1.0));
  }

  int ranks() const noexcept { return stage_ranks() * stages(); }
  int stage_ranks() const noexcept { return static_cast<int>(until_.size()); }
  int stages() const noexcept { return static_cast<int>(first_layers_.size()) - 1; }
  int stage(int rank) const noexcept { return rank / stage_ranks(); }
  int place(int rank) const noexcept { return rank % stage_ranks(); }
  // The part of a step's work that it should have: its speed beside that of all ranks, of 1.
  double share(int rank) const noexcept {
    const auto i = static_cast<std::size_t>(place(rank));
    return (until_[i] - (i == 0 ? 0.0 : until_[i - 1])) * stage_shares_[static_cast<std::size_t>(stage(rank))];
  }
  RowRange layers(int rank) const noexcept {
    const auto at = static_cast<std::size_t>(stage(rank));
    return {first_layers_[at], first_layers_[at + 1]};
  }
  // Whether it has the embedding, or the head.
  bool is_first(int rank) const noexcept { return stage(rank) == 0; }
  bool is_last(int rank) const noexcept { return stage(rank) == stages() - 1; }
  // The rows that a rank has of a weight of that layer, which must be one of its own; of weights outside the layers,
  // those of layer 0.
  RowRange rows(const BlockWeight& weight, std::int64_t layer, int rank) const noexcept;
  // [ranks of a stage + 1]: the one of place p has the rows [i, i + 1) of these; key heads that two ranks have are
  // counted with the first.
  std::vector<std::int64_t> borders(const BlockWeight& weight, std::int64_t layer) const;
  // The heads of attention with so many query heads, `group` of which share a key head.
  RowRange query_heads(std::int64_t heads, std::int64_t layer, int rank) const noexcept;
  RowRange key_heads(std::int64_t heads, std::int64_t group, std::int64_t layer, int rank) const noexcept;
  // What its layers keep of a token: model::kv_needs() with the key heads of the rank, none in layers of other stages.
  std::vector<kv::KvNeed> kv_needs(const ModelSpec& spec, int rank) const;
  // The first of the rank's key heads in the layer of that number among those that keep keys; 0 where it has all.
  std::int64_t first_key_head(const ModelSpec& spec, std::int64_t kv_layer, int rank) const;

 private:
  Shards(std::vector<double> until, std::vector<double> stage_shares, std::vector<std::int64_t> first_layers)
      : until_(std::move(until)), stage_shares_(std::move(stage_shares)), first_layers_(std::move(first_layers)) {}
  // The part that a rank has of n units, of which each rank of a stage has `least`.
  RowRange part(std::int64_t n, std::int64_t least, std::int64_t layer, int rank) const noexcept;

  std::vector<double> until_;               // the shares of each place and of those before it, of 1
  std::vector<double> stage_shares_;        // [stages], together 1
  std::vector<std::int64_t> first_layers_;  // [stages + 1], the last is the number of layers
};

// Which part of a model a process computes.
struct RankShards {
  std::shared_ptr<const Shards> shards;  // null: all of it
  int rank = 0;

  bool is_shared() const noexcept { return shards != nullptr; }
  int ranks() const noexcept { return shards == nullptr ? 1 : shards->ranks(); }
  int stages() const noexcept { return shards == nullptr ? 1 : shards->stages(); }
  // Whether it has the embedding, or the head.
  bool is_first() const noexcept { return shards == nullptr || shards->is_first(rank); }
  bool is_last() const noexcept { return shards == nullptr || shards->is_last(rank); }
  // Its layers, of a model of so many.
  RowRange layers(std::int64_t all) const noexcept {
    return shards == nullptr ? RowRange{0, all} : shards->layers(rank);
  }
  // The first rank of the stage that has the input of that layer, or the output of the last if it is `all`.
  int rank_of_state(std::int64_t layer, std::int64_t all) const noexcept {
    const int step = ranks() / stages();
    int of = 0;
    while (shards != nullptr && of + step < ranks() && shards->layers(of).last <= std::min(layer, all - 1)) of += step;
    return of;
  }
};

}  // namespace millrace::model
