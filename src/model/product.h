#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace millrace::model {

// The rows [first, last) of a weight, in the order in which loading puts them.
struct RowRange {
  std::int64_t first = 0, last = 0;

  std::int64_t size() const noexcept { return last - first; }
  bool operator==(const RowRange&) const = default;
};

// A packed matrix [n, k], or several stacked along n, and the biases of its n outputs.
struct Product {
  std::unique_ptr<backend::Linear> weight;
  backend::DeviceVector bias;  // [n]; empty: none

  // What adapters of it have to know. `place` is its number among the model's products.
  std::int64_t place = -1;
  std::vector<std::string> roles;  // BlockWeight::role of the stacked matrices
  std::vector<std::int64_t> rows;  // and their rows, of all ranks
  std::vector<RowRange> ranges;    // those of them that this rank has, counted in row_order: those of `weight`
  // Output i is row row_order[i] of each stacked matrix as the spec has it, and input j its column column_order[j]:
  // see BlockLoader::chain(). Empty: in order.
  std::vector<std::int32_t> row_order = {}, column_order = {};
};

// The places of products outside the layers; those of the layers follow.
enum OuterPlace : std::int64_t { kEmbeddingPlace, kHeadPlace, kProjectInPlace, kProjectOutPlace, kLayerPlaces };

}  // namespace millrace::model
