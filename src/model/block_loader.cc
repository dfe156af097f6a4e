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
    parts[i].resize(static_cast<std::size_t>(weights[i].rows), 0.0f);
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
  const std::string full = name(weight.name) + ".weight";
  if (spec_.rope_interleaved && weight.rotated_head > 0) {
    return weights_.rotary_linear(full, weight.rows, weight.cols, weight.rotated_head);
  }
  return weights_.linear(full, weight.rows, weight.cols, spec_.transposed_linears);
}

std::vector<float> BlockLoader::bias(const BlockWeight& weight) {
  const std::string full = name(weight.name) + ".bias";
  if (!spec_.biases && !weights_.has(full)) return {};
  return spec_.rope_interleaved && weight.rotated_head > 0
             ? weights_.rotary_vector(full, weight.rows, weight.rotated_head)
             : weights_.vector(full, weight.rows);
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
  return {.up = pack(std::move(first), std::move(biases), up),
          .down = pack(std::move(last), {bias(down)}, std::span(&down, 1))};
}

Product BlockLoader::pack(std::vector<backend::WeightSource> sources, std::vector<std::vector<float>> biases,
                          std::span<const BlockWeight> stacked) {
  return {.weight = backend_.make_linear(std::move(sources), precision_),
          .bias = backend_.make_vector(stack(std::move(biases), stacked))};
}

NormWeights BlockLoader::norm(const std::string& pattern) {
  return pattern.empty() ? NormWeights() : NormWeights(weights_, name(pattern), spec_, backend_);
}

backend::DeviceVector BlockLoader::vector(const std::string& pattern, std::int64_t n) {
  return backend_.make_vector(weights_.vector(name(pattern) + ".weight", n));
}

}  // namespace millrace::model
