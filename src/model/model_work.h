#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace millrace::model {

// What a step must do at least, from what its blocks say of themselves: operations (a multiply and an add are two) and
// the keys and values it reads. Norms, rotations and activations are below a hundredth and left out.
class ModelWork {
 public:
  explicit ModelWork(const ModelSpec& spec);

  // Products of the layers with one token; of the head with one row of logits.
  double layer_operations() const noexcept { return layer_operations_; }
  double head_operations() const noexcept { return head_operations_; }

  // Computing tokens [first, last) of one sequence, with the logits of the last one.
  double operations(std::int64_t first, std::int64_t last) const;
  // Bytes of keys and values that computing tokens [first, last) one by one reads: all that came before and the token
  // itself, or the layer's window of them.
  double kv_bytes(std::int64_t first, std::int64_t last, double kv_bytes_per_token) const;
  // What a step reads of each layer that keeps keys and values, in order.
  struct Reads {
    std::int64_t window = 0;          // tokens it looks back, 0 = all
    double operations_per_key = 0.0;  // for one query and one key
    double weight = 0.0;              // its bytes of a token are this over total_weight()
  };
  const std::vector<Reads>& reads() const noexcept { return reads_; }
  double total_weight() const noexcept { return total_weight_; }

 private:
  std::vector<Reads> reads_;
  double total_weight_ = 0.0;
  double layer_operations_ = 0.0, head_operations_ = 0.0;
};

}  // namespace millrace::model
