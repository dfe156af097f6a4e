#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/step_cost.h"

namespace millrace::app {

// A size of model in a common quantization, and what a machine makes of it.
struct ModelFit {
  double billions = 0.0;           // of parameters
  double active_billions = 0.0;    // of them those that a token reads: fewer in mixtures of experts
  std::string quantization;        // "Q4", "Q8"
  double bytes = 0.0;              // weights, with 1 GB for keys and values and 0.5 GB for the rest
  double tokens_per_second = 0.0;  // of one sequence, at most: every active weight is read once a token; 0: not known
};

// Model sizes from the largest to the smallest that fit `memory` bytes, at most one for each quantization and size.
// `read_gb_s`: measured bandwidth, 0 = unknown.
std::vector<ModelFit> fitting_models(double memory, double read_gb_s);

// Sentences for people: the largest models that fit, that of reading speed, and flags for them. `memory`: bytes
// available.
std::vector<std::string> machine_advice(double memory, double read_gb_s);

// What a profile of doctor --model-speed says, and how to use it.
std::vector<std::string> speed_advice(const sched::StepCost& cost, double typical_error, const std::string& model);

}  // namespace millrace::app
