#pragma once

#include <cstdint>
#include <vector>

#include "engine/step_report.h"
#include "model/model_spec.h"

namespace millrace::engine::load {

// The least workload of a step, by the model's dimensions: bytes to read and write, and operations (a multiply and an
// add are two). Weights count once for each step, but of experts those alone that its rows chose, keys and values once
// for each step and sequence. Norms, rotations and activations are below 1 % and left out. Immutable. An argument of
// StepReporter::measure().
class StepMeter {
 public:
  // `weight_bytes`: what every step reads, which experts are not; `kv_bytes_per_token` are those of all layers.
  StepMeter(const model::ModelSpec& spec, double weight_bytes, double kv_bytes_per_token);
  engine::StepWorkload operator()(const engine::StepReport& report) const;

 private:
  // Layers with the same attention window.
  struct Span {
    std::int64_t window = 0;  // tokens, 0 = all
    double share = 0.0;       // of the bytes of a token in all layers
    double operations = 0.0;  // for one query and one key, in all layers of the span
  };
  double weight_bytes_, kv_bytes_per_token_;
  double token_operations_, sample_operations_;
  std::vector<Span> spans_;
};

}  // namespace millrace::engine::load
