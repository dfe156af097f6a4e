#pragma once

// For tests: adapters of random numbers.

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "model/adapters/adapter.h"
#include "model/adapters/kept_matrices.h"
#include "model/adapters/load_adapter.h"
#include "model/transformer.h"
#include "model/weight_loader.h"

namespace millrace::engine {

// What a rank is told to make it of, in place of a path.
inline constexpr std::string_view kMade = "random";

// An adapter of every product of the layers but routers, of experts too, large enough to change most tokens; activated
// by the invocation, if there is one. Of a model that ranks share it has this rank's rows of the same matrices.
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
    const auto matrix = [&](std::int64_t rows, std::int64_t cols, model::RowRange own) {
      std::vector<float> values(static_cast<std::size_t>(experts * rows * cols));
      for (float& value : values) value = normal(random);
      backend::WeightSource source = model::f32_matrix("random", rows, cols, std::move(values));
      source.experts = experts;
      return model::WeightLoader::with_range(std::move(source), own);
    };
    backend::LowRankSource source{.base = product.weight.get()};
    for (std::size_t i = 0; i < product.rows.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      source.shrinks.push_back({matrix(rank, product.weight->k(), {0, rank})});
      backend::WeightSource b = matrix(product.rows[i], rank, product.ranges[i]);
      if (b.rows > 0) source.expands.push_back({.stacked = number, .shrink = number, .b = std::move(b)});
    }
    if (source.expands.empty()) return;
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
  const std::string key = fmt::format("{} {} {} {}", kMade, seed, rank, fmt::join(invocation, " "));
  return std::make_shared<const model::Adapter>(key,
                                                model::AdapterSummary{.rank = rank, .invocation_tokens = invocation},
                                                std::move(weights), model::AdapterOrigin{.path = key});
}

// Such an adapter of the path that it says, else one of files.
inline std::shared_ptr<const model::Adapter> read_test_adapter(const model::AdapterLoader& loader,
                                                               const model::Transformer& model,
                                                               backend::Backend& backend, const std::string& path,
                                                               const model::AdapterOptions& options) {
  if (!path.starts_with(kMade)) return loader.load(Env::system(), path, options);
  std::istringstream words(path.substr(kMade.size()));
  unsigned seed = 0;
  std::int64_t rank = 0;
  words >> seed >> rank;
  const std::vector<std::int32_t> invocation(std::istream_iterator<std::int32_t>(words), {});
  return made_adapter(model, backend, seed, rank, invocation);
}

}  // namespace millrace::engine
