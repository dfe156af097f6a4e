#include "model/block_loader.h"

#include <algorithm>
#include <utility>

namespace millrace::model {
namespace {

// Biases of stacked outputs, of these rows of each: zeros where one of them has none; empty if none has.
std::vector<float> stack(std::vector<std::vector<float>> parts, std::span<const BlockWeight> weights,
                         std::span<const RowRange> rows) {
  bool any = false;
  for (const auto& part : parts) any = any || !part.empty();
  std::vector<float> all;
  if (!any) return all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].resize(static_cast<std::size_t>(weights[i].rows + weights[i].zero_rows), 0.0f);
    all.insert(all.end(), parts[i].begin() + rows[i].first, parts[i].begin() + rows[i].last);
  }
  return all;
}

// Value order[i] as value i; an empty order changes nothing.
std::vector<float> in_order(std::vector<float> values, const std::vector<std::int32_t>& order) {
  if (values.empty() || order.empty()) return values;
  std::vector<float> out;
  for (const std::int32_t i : order) out.push_back(values[static_cast<std::size_t>(i)]);
  return out;
}

}  // namespace

backend::WeightSource BlockLoader::source(const BlockWeight& weight) {
  return weights_.linear(name(weight.tensor()), weight);
}

std::vector<float> BlockLoader::bias(const BlockWeight& weight) {
  const std::string full = name(weight.bias_tensor());
  const BiasRule rule = weight.bias == BiasRule::kNone ? bias_rule(spec_) : weight.bias;
  if (rule == BiasRule::kIfPresent && !weights_.has(full)) return {};
  return weights_.vector(full, weight);
}

RowRange BlockLoader::rows(const BlockWeight& weight) const noexcept {
  if (shards_.shards == nullptr) return {0, weight.rows + weight.zero_rows};
  return shards_.shards->rows(weight, layer_, shards_.rank);
}

std::int64_t BlockLoader::rows_of_rank_before(const BlockWeight& weight) const noexcept {
  if (shards_.shards == nullptr || shards_.shards->place(shards_.rank) == 0) return 0;
  return std::max<std::int64_t>(0, shards_.shards->rows(weight, layer_, shards_.rank - 1).last - rows(weight).first);
}

RankColumns BlockLoader::columns(const BlockWeight& weight) const {
  if (shards_.shards == nullptr || shards_.shards->stage_ranks() == 1) return {};
  return {shards_.shards->borders(weight, layer_), shards_.shards->place(shards_.rank)};
}

Product BlockLoader::place(std::span<const BlockWeight> stacked) {
  Product product;
  product.place = products_++;
  for (const BlockWeight& weight : stacked) {
    product.roles.push_back(weight.role);
    product.rows.push_back(weight.rows + weight.zero_rows);
    product.ranges.push_back(rows(weight));
  }
  return product;
}

Product BlockLoader::product(std::span<const BlockWeight> stacked) {
  std::vector<backend::WeightSource> sources;
  std::vector<std::vector<float>> biases;
  for (const BlockWeight& weight : stacked) {
    sources.push_back(source(weight));
    biases.push_back(bias(weight));
  }
  return pack(std::move(sources), std::move(biases), stacked);
}

Product BlockLoader::experts(std::span<const BlockWeight> stacked) {
  Product product = place(stacked);
  std::vector<backend::WeightSource> sources;
  for (const BlockWeight& weight : stacked) {
    sources.push_back(WeightLoader::with_range(weights_.experts(name(weight.tensor()), weight), rows(weight)));
  }
  product.weight = backend_.make_linear(std::move(sources), precision_);
  if (stacked.front().bias == BiasRule::kNone) return product;
  const auto n = static_cast<std::size_t>(product.weight->n());
  std::vector<float> biases(n * static_cast<std::size_t>(stacked.front().experts));
  std::size_t at = 0;
  for (const BlockWeight& weight : stacked) {
    const std::vector<float> all = weights_.expert_vectors(name(weight.bias_tensor()), weight);
    const RowRange own = rows(weight);
    const auto of_expert = static_cast<std::size_t>(weight.rows), n_own = static_cast<std::size_t>(own.size());
    for (std::size_t e = 0; e < static_cast<std::size_t>(weight.experts); ++e) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(e * of_expert) + own.first;
      std::copy_n(from, n_own, biases.begin() + static_cast<std::ptrdiff_t>(e * n + at));
    }
    at += n_own;
  }
  product.bias = backend_.make_vector(biases);
  return product;
}

BlockLoader::Chain BlockLoader::chain(std::span<const BlockWeight> up, const BlockWeight& down) {
  std::vector<backend::WeightSource> first, last;
  for (const BlockWeight& weight : up) first.push_back(source(weight));
  last.push_back(source(down));
  const std::vector<std::int32_t> order = std::exchange(last.front().columns, {});
  std::vector<std::vector<float>> biases;
  for (std::size_t i = 0; i < up.size(); ++i) {
    first[i] = WeightLoader::with_rows(std::move(first[i]), order);
    biases.push_back(in_order(bias(up[i]), order));
  }
  Chain made{.up = pack(std::move(first), std::move(biases), up),
             .down = pack(std::move(last), {bias(down)}, std::span(&down, 1))};
  made.up.row_order = made.down.column_order = order;
  return made;
}

Product BlockLoader::pack(std::vector<backend::WeightSource> sources, std::vector<std::vector<float>> biases,
                          std::span<const BlockWeight> stacked) {
  const auto precision = stacked.front().exact ? backend::MatmulPrecision::kF32 : precision_;
  Product product = place(stacked);
  std::vector<RowRange> ranges;
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    ranges.push_back(rows(stacked[i]));
    sources[i] = WeightLoader::with_range(std::move(sources[i]), ranges.back());
    sources[i].uncounted_rows = rows_of_rank_before(stacked[i]);
  }
  product.weight = backend_.make_linear(std::move(sources), precision);
  product.bias = backend_.make_vector(stack(std::move(biases), stacked, ranges));
  return product;
}

NormWeights BlockLoader::norm(const std::string& pattern, const NormSpec& norm, std::int64_t n) {
  return NormWeights(weights_, pattern.empty() ? pattern : name(pattern), norm, n, backend_);
}

std::vector<float> BlockLoader::values(const std::string& pattern, std::int64_t n) {
  return weights_.vector(name(pattern), n);
}

NormWeights BlockLoader::head_norm(const NormSpec& norm, const BlockWeight& order, float factor) {
  NormWeights made;
  made.spec = norm;
  std::vector<float> weight(static_cast<std::size_t>(order.rows), 1.0f), bias;
  if (norm.weight) weight = weights_.head_vector(name(order.name) + ".weight", order);
  if (norm.bias) bias = weights_.head_vector(name(order.name) + ".bias", order);
  for (float& value : weight) value = (value + (norm.weight ? norm.offset : 0.0f)) * factor;
  for (float& value : bias) value *= factor;
  const RowRange own = rows(order);
  const auto vector_of = [&](const std::vector<float>& all) {
    const auto [first, last] = all.empty() ? RowRange{} : own;
    return backend_.make_vector(
        std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
  };
  made.weight = vector_of(weight);
  made.bias = vector_of(bias);
  return made;
}

}  // namespace millrace::model
