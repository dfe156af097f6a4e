#include "model/shard.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kHiddenUnit = 32;  // a group of int8 activations
constexpr std::int64_t kPanelUnit = 16;   // a panel of packed rows

bool all_tensors(const std::string&) { return true; }

// The weight of a block's keys; null: it keeps none.
const BlockWeight* find_keys(const std::vector<BlockWeight>& weights) {
  const auto keys = std::ranges::find(weights, RowAxis::kKeyHeads, &BlockWeight::axis);
  return keys == weights.end() ? nullptr : &*keys;
}

// The fewest query heads that a layer with attention has; -1: no layer has attention.
std::int64_t fewest_heads(const ModelSpec& spec) {
  std::int64_t fewest = -1;
  for (const LayerSpec& layer : spec.layers) {
    for (const BlockSpec& block : layer.blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, all_tensors)) {
        if (weight.axis != RowAxis::kQueryHeads) continue;
        const std::int64_t heads = weight.rows / weight.axis_rows;
        fewest = fewest < 0 ? heads : std::min(fewest, heads);
      }
    }
  }
  return fewest;
}

// Numbers that a token is multiplied with, of all layers before each, the last of the whole model: with the head.
std::vector<double> work_before_layers(const ModelSpec& spec) {
  const auto of = [](const BlockWeight& weight) {
    const auto experts = static_cast<double>(std::max<std::int64_t>(1, weight.experts));
    return static_cast<double>(weight.rows) * static_cast<double>(weight.cols) * experts;
  };
  std::vector<double> before = {0.0};
  for (const LayerSpec& layer : spec.layers) {
    double work = 0.0;
    for (const BlockSpec& block : layer.blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, all_tensors)) work += of(weight);
    }
    before.push_back(before.back() + work);
  }
  before.back() += static_cast<double>(spec.vocab_size) * static_cast<double>(spec.embedding_width());
  return before;
}

// The first layers of stages of such speeds, of which the slowest takes as little time as possible, and the number of
// layers.
std::vector<std::int64_t> divide_layers(const ModelSpec& spec, std::span<const double> speeds) {
  const std::vector<double> before = work_before_layers(spec);
  const std::size_t layers = spec.layers.size(), n = speeds.size();
  // slowest[s][l]: of the first s + 1 stages, where these have the first l layers; from[s][l]: where the last begins.
  std::vector slowest(n, std::vector(layers + 1, std::numeric_limits<double>::infinity()));
  std::vector from(n, std::vector<std::size_t>(layers + 1, 0));
  for (std::size_t l = 1; l <= layers; ++l) slowest[0][l] = before[l] / speeds[0];
  for (std::size_t s = 1; s < n; ++s) {
    for (std::size_t l = s + 1; l <= layers; ++l) {
      for (std::size_t begin = s; begin < l; ++begin) {
        const double time = std::max(slowest[s - 1][begin], (before[l] - before[begin]) / speeds[s]);
        if (begin == s || time < slowest[s][l]) slowest[s][l] = time, from[s][l] = begin;
      }
    }
  }
  std::vector<std::int64_t> first(n + 1, 0);
  first[n] = static_cast<std::int64_t>(layers);
  for (std::size_t s = n - 1; s > 0; --s) {
    first[s] = static_cast<std::int64_t>(from[s][static_cast<std::size_t>(first[s + 1])]);
  }
  return first;
}

// What each is of all. Divided by the largest first, so that sums are numbers.
std::vector<double> parts_of_one(std::span<const double> shares) {
  const double largest = std::ranges::max(shares);
  double sum = 0.0;
  for (const double share : shares) sum += share / largest;
  std::vector<double> parts;
  for (const double share : shares) parts.push_back(share / largest / sum);
  return parts;
}

}  // namespace

Result<void> check_shares(const char* flag, std::span<const double> shares) {
  for (const double share : shares) {
    if (std::isfinite(share) && share > 0.0) continue;
    return make_error(ErrorCode::kInvalidArgument, flag, "{} has {}: must be numbers above 0", flag, share);
  }
  return {};
}

Result<Shards> Shards::make(const ModelSpec& spec, std::span<const double> shares,
                            std::span<const double> stage_shares) {
  CHECK(!shares.empty());
  const std::size_t stages = stage_shares.size();
  if (stages < 1 || stages > spec.layers.size()) {
    return make_error(ErrorCode::kInvalidArgument, "pipeline-parallel-size",
                      "pipeline-parallel-size is {}: must be from 1 to {}, the layers of the model", stages,
                      spec.layers.size());
  }
  if (const std::int64_t heads = fewest_heads(spec); heads >= 0 && std::ssize(shares) > heads) {
    return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-size",
                      "tensor-parallel-size is {}: must be from 1 to {}, the query heads of a layer", shares.size(),
                      heads);
  }
  if (auto valid = check_shares("tensor-parallel-shares", shares); !valid) return valid.error();
  if (auto valid = check_shares("pipeline-parallel-shares", stage_shares); !valid) return valid.error();
  const double largest = std::ranges::max(shares);  // so that sums are numbers
  std::vector<double> until;
  for (double sum = 0.0; const double share : shares) until.push_back(sum += share / largest);
  for (const double all = until.back(); double& border : until) border /= all;
  return Shards(std::move(until), parts_of_one(stage_shares), divide_layers(spec, stage_shares));
}

RowRange Shards::part(std::int64_t n, std::int64_t least, std::int64_t layer, int rank) const noexcept {
  const auto last_rank = static_cast<std::int64_t>(stage_ranks()) - 1;
  // Which way borders round goes round with the layers, and so on average a rank has its share.
  const double phase = (static_cast<double>(layer % stage_ranks()) + 0.5) / stage_ranks();
  const auto border = [&](std::int64_t before) -> std::int64_t {  // of the first `before` ranks
    if (before == 0) return 0;
    if (before > last_rank) return n;
    const double units = static_cast<double>(n) * until_[static_cast<std::size_t>(before) - 1];
    return std::clamp(static_cast<std::int64_t>(std::floor(units + phase)), before * least,
                      n - (last_rank + 1 - before) * least);
  };
  return {border(place(rank)), border(place(rank) + 1)};
}

RowRange Shards::query_heads(std::int64_t heads, std::int64_t layer, int rank) const noexcept {
  return part(heads, 1, layer, rank);
}

RowRange Shards::key_heads(std::int64_t heads, std::int64_t group, std::int64_t layer, int rank) const noexcept {
  const RowRange queries = query_heads(heads, layer, rank);
  return {queries.first / group, (queries.last + group - 1) / group};
}

RowRange Shards::rows(const BlockWeight& weight, std::int64_t layer, int rank) const noexcept {
  const auto times = [](RowRange units, std::int64_t rows) { return RowRange{units.first * rows, units.last * rows}; };
  const auto in_units = [&](std::int64_t unit, std::int64_t rows) {
    RowRange range = times(part((rows + unit - 1) / unit, 0, layer, rank), unit);
    return RowRange{std::min(range.first, rows), std::min(range.last, rows)};
  };
  const std::int64_t heads = weight.rows / weight.axis_rows;
  if (weight.every_rank) return {0, weight.rows + weight.zero_rows};
  switch (weight.axis) {
    case RowAxis::kQueryHeads: return times(query_heads(heads, layer, rank), weight.axis_rows);
    case RowAxis::kKeyHeads:
      return times(key_heads(heads * weight.axis_group, weight.axis_group, layer, rank), weight.axis_rows);
    case RowAxis::kHidden: return in_units(kHiddenUnit, weight.rows + weight.zero_rows);
    case RowAxis::kResidual:
    case RowAxis::kVocabulary: return in_units(kPanelUnit, weight.rows);
    case RowAxis::kWhole: break;
  }
  return {0, weight.rows + weight.zero_rows};
}

std::vector<std::int64_t> Shards::borders(const BlockWeight& weight, std::int64_t layer) const {
  std::vector<std::int64_t> borders = {0};
  for (int place = 0; place < stage_ranks(); ++place) borders.push_back(rows(weight, layer, place).last);
  return borders;
}

std::vector<kv::KvNeed> Shards::kv_needs(const ModelSpec& spec, int rank) const {
  std::vector<kv::KvNeed> needs;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& of_spec = spec.layers[i];
    const std::int64_t layer = of_spec.has_weights() ? static_cast<std::int64_t>(i) : of_spec.weights_of;
    for (const BlockSpec& block : of_spec.blocks) {
      auto need = kind_of(block).kv(block);
      if (!need) continue;
      const std::vector<BlockWeight> weights = block_weights(block, spec, all_tensors);
      if (const BlockWeight* keys = find_keys(weights)) {
        need->kv_heads = rows(*keys, layer, rank).size() / keys->axis_rows;
      }
      const RowRange own = layers(rank);
      if (static_cast<std::int64_t>(i) < own.first || static_cast<std::int64_t>(i) >= own.last) need->kv_heads = 0;
      needs.push_back(*need);
    }
  }
  return needs;
}

std::int64_t Shards::first_key_head(const ModelSpec& spec, std::int64_t kv_layer, int rank) const {
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& of_spec = spec.layers[i];
    const std::int64_t layer = of_spec.has_weights() ? static_cast<std::int64_t>(i) : of_spec.weights_of;
    for (const BlockSpec& block : of_spec.blocks) {
      if (!kind_of(block).kv(block) || kv_layer-- > 0) continue;
      const std::vector<BlockWeight> weights = block_weights(block, spec, all_tensors);
      const BlockWeight* keys = find_keys(weights);
      return keys == nullptr ? 0 : rows(*keys, layer, rank).first / keys->axis_rows;
    }
  }
  return 0;
}

}  // namespace millrace::model
