#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace millrace::model {

// The minimal work of a step according to its blocks: operations (a multiply and an add are two), and the keys and
// values that it reads. Norms, rotations and activations, which are below a hundredth, are left out.
class ModelWork {
 public:
  explicit ModelWork(const ModelSpec& spec);

  // Operations of all layers for one token, and of the output head for one row of logits.
  double layer_operations() const noexcept { return layer_operations_; }
  double head_operations() const noexcept { return head_operations_; }

  // Operations for tokens [first, last) of one sequence, with the logits of the last one.
  double operations(std::int64_t first, std::int64_t last) const;
  // Bytes of keys and values read when tokens [first, last) are computed one by one: of all tokens before and the token
  // itself, or of the layer's window.
  double kv_bytes(std::int64_t first, std::int64_t last, double kv_bytes_per_token) const;
  // What a step reads of each layer that keeps keys and values, in the order of layers.
  struct Reads {
    std::int64_t window = 0;          // tokens that attention looks back on; 0 = all
    double operations_per_key = 0.0;  // for one query and one key
    double weight = 0.0;              // the layer's share of a token's bytes is weight / total_weight()
  };
  const std::vector<Reads>& reads() const noexcept { return reads_; }
  double total_weight() const noexcept { return total_weight_; }

 private:
  std::vector<Reads> reads_;
  double total_weight_ = 0.0;
  double layer_operations_ = 0.0, head_operations_ = 0.0;
};

}  // namespace millrace::model
