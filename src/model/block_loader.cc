#include "model/block_loader.h"

#include <utility>

namespace millrace::model {
namespace {

// Biases of stacked outputs: zeros where one of them has none; empty if none has.
std::vector<float> stack(std::vector<std::vector<float>> parts, std::span<const BlockWeight> weights) {
  bool any = false;
  for (const auto& part : parts) any = any || !part.empty();
  std::vector<float> all;
  if (!any) return all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].resize(static_cast<std::size_t>(weights[i].rows + weights[i].zero_rows), 0.0f);
    all.insert(all.end(), parts[i].begin(), parts[i].end());
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

Product BlockLoader::place(std::span<const BlockWeight> stacked) {
  Product product;
  product.place = products_++;
  for (const BlockWeight& weight : stacked) {
    product.roles.push_back(weight.role);
    product.rows.push_back(weight.rows + weight.zero_rows);
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
  for (const BlockWeight& weight : stacked) sources.push_back(weights_.experts(name(weight.tensor()), weight));
  product.weight = backend_.make_linear(std::move(sources), precision_);
  if (stacked.front().bias == BiasRule::kNone) return product;
  const auto n = static_cast<std::size_t>(product.weight->n());
  std::vector<float> biases(n * static_cast<std::size_t>(stacked.front().experts));
  std::size_t at = 0;
  for (const BlockWeight& weight : stacked) {
    const std::vector<float> all = weights_.expert_vectors(name(weight.bias_tensor()), weight);
    const auto rows = static_cast<std::size_t>(weight.rows);
    for (std::size_t i = 0; i < all.size(); ++i) biases[i / rows * n + at + i % rows] = all[i];
    at += rows;
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
  product.weight = backend_.make_linear(std::move(sources), precision);
  product.bias = backend_.make_vector(stack(std::move(biases), stacked));
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
  made.weight = backend_.make_vector(weight);
  made.bias = backend_.make_vector(bias);
  return made;
}

}  // namespace millrace::model
