#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/block.h"
#include "model/model_spec.h"
#include "model/weight_loader.h"

namespace millrace::model {

// A matrix that a model multiplies with, by its place in the model, which is the same whatever files it lies in.
struct MatrixPlace {
  std::string place;        // "embedding", "head", "00003.01.ffn_down": layer, block, role
  std::string name;         // of its tensor, as the spec spells it
  BlockWeight weight = {};  // of a block; of the embedding and the head one without columns
  // Opens it with a loader of files that the spec describes. Throws LoadError.
  std::function<backend::WeightSource(WeightLoader&)> open;
};

// All of them, the embedding, the head unless it is tied, and those of blocks. The spec must outlive them; `loader`
// says which of a family's alternatives the files have.
std::vector<MatrixPlace> matrix_places(const ModelSpec& spec, const WeightLoader& loader);

}  // namespace millrace::model
