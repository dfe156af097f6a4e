#pragma once

#include <cstdint>
#include <vector>

#include "engine/step_report.h"
#include "model/model_spec.h"

namespace millrace::engine::load {

// What a step must do at least, from the model's dimensions: bytes it reads and writes, operations (a multiply and an
// add are two). Weights once a step, keys and values once a step and sequence; norms, rotations and activations are
// below a hundredth and left out. Immutable; what Engine::measure() takes.
class StepMeter {
 public:
  // weight_bytes: that each step reads; kv_bytes_per_token: of all layers.
  StepMeter(const model::ModelSpec& spec, double weight_bytes, double kv_bytes_per_token);
  engine::StepWorkload operator()(const engine::StepReport& report) const;

 private:
  // Layers that look equally far back.
  struct Span {
    std::int64_t window = 0;  // tokens, 0 = all
    double share = 0.0;       // of the bytes of a token in all layers
    double operations = 0.0;  // for one query and one key, in all of them
  };
  double weight_bytes_, kv_bytes_per_token_;
  double token_operations_, sample_operations_;
  std::vector<Span> spans_;
};

}  // namespace millrace::engine::load
