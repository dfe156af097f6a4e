#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/block.h"
#include "model/load_quantization.h"
#include "model/model_spec.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {

// Finds the weights that a spec needs in a checkpoint, checks their shapes, and records which were used. A weight that
// is never asked for is an error, since the model then is not what the spec describes. Names are the spec's; the file
// may spell them otherwise (WeightNames::renamed). All functions throw LoadError naming the tensor.
class WeightLoader {
 public:
  WeightLoader(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec, LoadQuantization quantization = {})
      : checkpoint_(checkpoint), spec_(spec), quantization_(std::move(quantization)), weights_(checkpoint) {}

  // `pattern` with the layer number in place of `{}`.
  static std::string layer_name(const std::string& pattern, std::int64_t layer);

  bool has(const std::string& name) const { return weights_.has(spec_.names.in_file(name)); }
  // Whether the file has a pattern's tensor in that layer, with or without ".weight". The loader must outlive it.
  HasTensor in_layer(std::int64_t layer) const {
    return [this, layer](const std::string& pattern) {
      const std::string name = layer_name(pattern, layer);
      return has(name + ".weight") || has(name);
    };
  }
  // `pattern` with the expert's number in place of `[]`.
  static std::string expert_name(const std::string& pattern, std::int64_t expert);
  // A linear weight [rows, cols] for the backend to pack. `transposed`: it is stored as [cols, rows] if it is one
  // tensor.
  backend::WeightSource linear(const std::string& name, std::int64_t rows, std::int64_t cols, bool transposed = false);
  // The same for the embedding or the head, in the format that loading gives these.
  backend::WeightSource outer(const std::string& name, std::int64_t rows, std::int64_t cols);
  // A weight of a block, in the format that loading gives it, with the rows that the spec says, of the tensor `name`,
  // and its rows and columns of zeros.
  backend::WeightSource linear(const std::string& name, const BlockWeight& weight);
  // The matrices of a weight's experts: of the tensors of that pattern, or of a stack.
  backend::WeightSource experts(const std::string& name, const BlockWeight& weight);
  // Values for the rows of each expert, expert by expert: of a tensor [experts, rows].
  std::vector<float> expert_vectors(const std::string& name, const BlockWeight& weight);
  // The same matrix with row order[i] as row i; an empty order changes nothing. With it, the outputs of one weight come
  // in the order in which another takes its inputs (WeightSource::columns).
  static backend::WeightSource with_rows(backend::WeightSource source, std::vector<std::int32_t> order);
  // The rows of that range of the matrix, or of each expert's.
  static backend::WeightSource with_range(backend::WeightSource source, const RowRange& range);
  // The same matrix with rows of length 1, as f32.
  static backend::WeightSource with_unit_rows(backend::WeightSource source);
  // A vector [n] as f32.
  std::vector<float> vector(const std::string& name, std::int64_t n);
  // The values that belong to a weight's rows, such as its bias.
  std::vector<float> vector(const std::string& name, const BlockWeight& weight);
  // The values of heads: of one tensor [rows] or [heads, D], or of one for each head, whose number stands for `[]`.
  std::vector<float> head_vector(const std::string& name, const BlockWeight& weight);
  const ModelSpec& spec() const noexcept { return spec_; }
  void mark_used(const std::string& name) { used_.insert(spec_.names.in_file(name)); }
  // All weights that a layer, or the model outside its layers, could have: other ranks have them.
  void mark_layer_used(std::int64_t layer);
  void mark_outer_used();

  std::uint64_t bytes() const noexcept;  // of all tensors, as stored
  // Bytes of the weights asked for so far, as stored.
  std::uint64_t bytes_used() const noexcept { return bytes_used_; }

  // Throws if the checkpoint has weights that were neither used nor are listed as ignored.
  void check_all_used() const;

 private:
  ColumnImportance importance(const std::string& name, const BlockWeight& weight) const;
  // The rows and columns that the file has.
  backend::WeightSource of_file(const std::string& name, const BlockWeight& weight);
  void use(const checkpoint::RawTensor& tensor);
  void mark_all_used(std::string_view beginning);
  std::vector<float> read(const checkpoint::RawTensor& tensor);
  std::shared_ptr<const StoredWeight> open(const std::string& file_name, const MatrixShape& shape);

  const checkpoint::Checkpoint& checkpoint_;
  const ModelSpec& spec_;
  LoadQuantization quantization_;
  CheckpointWeights weights_;
  std::map<std::string, std::weak_ptr<const StoredWeight>> opened_;  // by name in the file: parts share a fused tensor
  std::set<std::string> used_;
  std::uint64_t bytes_used_ = 0;
};

}  // namespace millrace::model
