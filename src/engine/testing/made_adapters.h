#pragma once

// For tests: adapters of random numbers.

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "draft/speculators/testing/made_speculators.h"
#include "model/adapters/kept_matrices.h"
#include "model/adapters/load_adapter.h"

namespace millrace::engine {

// An adapter of every projection that the checkpoint has a tensor of, large enough to change most tokens; activated by
// the invocation, if there is one.
inline std::shared_ptr<const model::Adapter> made_adapter(const checkpoint::Checkpoint& checkpoint,
                                                          const model::Transformer& model, backend::Backend& backend,
                                                          unsigned seed, std::int64_t rank = 4,
                                                          const std::vector<std::int32_t>& invocation = {}) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  draft::MadeFiles files;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
    std::vector<float> values(static_cast<std::size_t>(rows * cols));
    for (float& value : values) value = normal(random);
    files.add("base_model.model." + name, Shape{rows, cols}, std::move(values));
  };
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) {
    constexpr std::string_view kEnd = "_proj.weight";
    const bool of_layers = tensor.name.starts_with("model.layers.") && tensor.name.ends_with(kEnd);
    if (!of_layers || tensor.name.find("experts") != std::string::npos) continue;
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    add(module + ".lora_A.weight", rank, tensor.shape[1]);
    add(module + ".lora_B.weight", tensor.shape[0], rank);
  }
  const std::string config =
      fmt::format(R"({{"peft_type": "LORA", "r": {0}, "lora_alpha": {0}, "alora_invocation_tokens": [{1}]}})", rank,
                  fmt::join(invocation, ", "));
  const std::filesystem::path directory =
      files.write(fmt::format("adapter_{}_{}_{}", seed, rank, invocation.size()), config, "adapter_model.safetensors");
  std::filesystem::rename(directory / "config.json", directory / "adapter_config.json");
  return model::AdapterLoader(checkpoint, model, backend).load(Env::system(), directory, {});
}

// The same without files, of a model that is another than its checkpoint says: of every product of the layers but
// routers, of experts too.
inline std::shared_ptr<const model::Adapter> random_adapter(const model::Transformer& model, backend::Backend& backend,
                                                            unsigned seed, std::int64_t rank,
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
  return std::make_shared<const model::Adapter>(fmt::format("random {} {}", seed, rank),
                                                model::AdapterSummary{.rank = rank, .invocation_tokens = invocation},
                                                std::move(weights));
}

}  // namespace millrace::engine
