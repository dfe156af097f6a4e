#pragma once

// For tests: adapters of random numbers.

#include <fmt/format.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "model/adapters/adapter.h"
#include "model/adapters/kept_matrices.h"
#include "model/transformer.h"

namespace millrace::engine {

// An adapter of every product of the layers but routers, of experts too, large enough to change most tokens; activated
// by the invocation, if there is one.
inline std::shared_ptr<const model::Adapter> made_adapter(const model::Transformer& model, backend::Backend& backend,
                                                          unsigned seed, std::int64_t rank = 4,
                                                          const std::vector<std::int32_t>& invocation = {}) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  const model::LayerStack& layers = model.layers();
  std::vector<backend::LowRankSource> sources;
  std::vector<std::size_t> places;
  const auto add = [&](const model::Product& product) {
    const std::int64_t experts = product.weight->experts();
    const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
      std::vector<float> values(static_cast<std::size_t>(experts * rows * cols));
      for (float& value : values) value = normal(random);
      backend::WeightSource source = model::f32_matrix("random", rows, cols, std::move(values));
      source.experts = experts;
      return source;
    };
    backend::LowRankSource source{.base = product.weight.get()};
    for (std::size_t i = 0; i < product.rows.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      source.shrinks.push_back({matrix(rank, product.weight->k())});
      source.expands.push_back({.stacked = number, .shrink = number, .b = matrix(product.rows[i], rank)});
    }
    sources.push_back(std::move(source));
    places.push_back(static_cast<std::size_t>(product.place));
  };
  for (std::int64_t layer = 0; layer < layers.size(); ++layer) {
    for (std::size_t block = 0; block < model.spec().layers[static_cast<std::size_t>(layer)].blocks.size(); ++block) {
      for (const model::Product* product : layers.products(layer, block)) {
        if (!product->roles.front().ends_with("_inp")) add(*product);
      }
    }
  }
  std::vector<std::unique_ptr<backend::LowRank>> weights(static_cast<std::size_t>(layers.places()));
  auto made = backend.make_low_ranks(std::move(sources), model.precision());
  for (std::size_t i = 0; i < made.size(); ++i) weights[places[i]] = std::move(made[i]);
  return std::make_shared<const model::Adapter>(fmt::format("random {} {} {}", seed, rank, fmt::join(invocation, " ")),
                                                model::AdapterSummary{.rank = rank, .invocation_tokens = invocation},
                                                std::move(weights));
}

}  // namespace millrace::engine
