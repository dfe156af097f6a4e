#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/block.h"
#include "model/norm_weights.h"
#include "model/product.h"
#include "model/rank_columns.h"
#include "model/shard.h"
#include "model/weight_loader.h"

namespace millrace::model {

// Reads the weights of one block. Patterns of names are those of one layer; the loader applies the file's order of rows
// and columns. All functions throw LoadError naming tensor, expected and found shape.
class BlockLoader {
 public:
  // All arguments but the last must outlive the loader.
  BlockLoader(WeightLoader& weights, const ModelSpec& spec, backend::Backend& backend,
              backend::MatmulPrecision precision, RankShards shards = {})
      : weights_(weights), spec_(spec), backend_(backend), precision_(precision), shards_(std::move(shards)) {}
  void set_layer(std::int64_t layer) noexcept { layer_ = layer; }
  // Products loaded so far, and those outside the layers: the next one's place.
  std::int64_t products() const noexcept { return products_; }

  const ModelSpec& spec() const noexcept { return spec_; }
  backend::Backend& backend() const noexcept { return backend_; }
  bool has(const std::string& pattern) const { return weights_.in_layer(layer_)(pattern); }
  // The rows that this rank has of a weight. All below loads these alone.
  RowRange rows(const BlockWeight& weight) const noexcept;
  // The columns that each rank computes of a product with the weight, for all of them side by side.
  RankColumns columns(const BlockWeight& weight) const;
  // The matrices stacked along their outputs. If only some have biases, the others get zeros.
  Product product(std::span<const BlockWeight> stacked);
  Product product(const BlockWeight& weight) { return product(std::span(&weight, 1)); }
  // The matrices of experts, stacked as above for each expert.
  Product experts(std::span<const BlockWeight> stacked);
  // Two products in sequence, down(f(up(x))) with an elementwise f. If the file stores the columns of `down` in another
  // order, the outputs of `up` are computed in that order, so that no value must be moved in a step.
  struct Chain {
    Product up, down;
  };
  Chain chain(std::span<const BlockWeight> up, const BlockWeight& down);
  // A norm of n values; see NormWeights.
  NormWeights norm(const std::string& pattern, const NormSpec& spec, std::int64_t n);
  // A vector [n], whole. The pattern is of the tensor's whole name.
  std::vector<float> values(const std::string& pattern, std::int64_t n);
  // A norm of heads, whose result is multiplied with `factor`.
  NormWeights head_norm(const NormSpec& spec, const BlockWeight& order, float factor);

 private:
  // How many of the first rows that this rank has of a weight the one before it has too.
  std::int64_t rows_of_rank_before(const BlockWeight& weight) const noexcept;
  std::string name(const std::string& pattern) const { return WeightLoader::layer_name(pattern, layer_); }
  Product pack(std::vector<backend::WeightSource> sources, std::vector<std::vector<float>> biases,
               std::span<const BlockWeight> stacked);
  // A product without weights, at the next place.
  Product place(std::span<const BlockWeight> stacked);
  backend::WeightSource source(const BlockWeight& weight);
  std::vector<float> bias(const BlockWeight& weight);

  WeightLoader& weights_;
  const ModelSpec& spec_;
  backend::Backend& backend_;
  backend::MatmulPrecision precision_;
  RankShards shards_;
  std::int64_t layer_ = 0;
  std::int64_t products_ = kLayerPlaces;
};

}  // namespace millrace::model
