#include "model/matrix_places.h"

#include <fmt/format.h>

#include "model/block.h"

namespace millrace::model {
namespace {

void add_layer(const ModelSpec& spec, const WeightLoader& loader, std::size_t index, std::vector<MatrixPlace>& places) {
  const auto named = [&](const std::string& pattern) {
    return WeightLoader::layer_name(pattern, static_cast<std::int64_t>(index));
  };
  const auto has = [&](const std::string& pattern) {
    const std::string first = WeightLoader::expert_name(named(pattern), 0);
    return loader.has(first + ".weight") || loader.has(first);
  };
  const std::vector<BlockSpec>& blocks = spec.layers[index].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const BlockWeight& weight : block_weights(blocks[b], spec, has)) {
      if (weight.cols == 0) continue;
      const std::string name = named(weight.tensor());
      places.push_back({fmt::format("{:05}.{:02}.{}", index, b, weight.role), name, weight, [=](WeightLoader& from) {
                          return weight.experts > 0 ? from.experts(name, weight) : from.linear(name, weight);
                        }});
    }
  }
}

}  // namespace

std::vector<MatrixPlace> matrix_places(const ModelSpec& spec, const WeightLoader& loader) {
  std::vector<MatrixPlace> places;
  const auto outer = [&](const std::string& place, const std::string& name) {
    places.push_back({place, name + ".weight", {}, [name, &spec](WeightLoader& from) {
                        return from.outer(name + ".weight", spec.vocab_size, spec.embedding_width());
                      }});
  };
  outer("embedding", spec.names.embedding);
  if (!spec.tied_head) outer("head", spec.names.head);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) add_layer(spec, loader, i, places);
  return places;
}

}  // namespace millrace::model
