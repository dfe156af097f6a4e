#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/block.h"
#include "model/norm_weights.h"
#include "model/weight_loader.h"

namespace millrace::model {

// A packed matrix and the biases of its outputs.
struct Product {
  std::unique_ptr<backend::Linear> weight;
  backend::DeviceVector bias;  // [n]; empty: none
};

// What a block reads its weights with: patterns of names are those of one layer, and the file's ways with rows are the
// model's. All functions throw LoadError naming tensor, expected and found.
class BlockLoader {
 public:
  // All outlive the loader.
  BlockLoader(WeightLoader& weights, const ModelSpec& spec, backend::Backend& backend,
              backend::MatmulPrecision precision)
      : weights_(weights), spec_(spec), backend_(backend), precision_(precision) {}
  void set_layer(std::int64_t layer) noexcept { layer_ = layer; }

  const ModelSpec& spec() const noexcept { return spec_; }
  bool has(const std::string& pattern) const { return weights_.has(name(pattern) + ".weight"); }
  // The matrices stacked along their outputs, with zeros for biases where only some of them have any.
  Product product(std::span<const BlockWeight> stacked);
  Product product(const BlockWeight& weight) { return product(std::span(&weight, 1)); }
  // Two products in a row, down(f(up(x))) with f value by value. Where the file keeps the columns of `down` in another
  // order, the outputs of `up` are made in that order, so that no value moves while computing.
  struct Chain {
    Product up, down;
  };
  Chain chain(std::span<const BlockWeight> up, const BlockWeight& down);
  // A norm; without weights where the pattern is empty.
  NormWeights norm(const std::string& pattern);
  backend::DeviceVector vector(const std::string& pattern, std::int64_t n);

 private:
  std::string name(const std::string& pattern) const { return WeightLoader::layer_name(pattern, layer_); }
  Product pack(std::vector<backend::WeightSource> sources, std::vector<std::vector<float>> biases,
               std::span<const BlockWeight> stacked);
  backend::WeightSource source(const BlockWeight& weight);
  std::vector<float> bias(const BlockWeight& weight);

  WeightLoader& weights_;
  const ModelSpec& spec_;
  backend::Backend& backend_;
  backend::MatmulPrecision precision_;
  std::int64_t layer_ = 0;
};

}  // namespace millrace::model
