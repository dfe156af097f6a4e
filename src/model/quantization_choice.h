#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/memory_plan.h"

namespace millrace::model {

// One way of loading a model: "" leaves weights as they are stored.
struct QuantizationChoice {
  LoadQuantization quantization;
  MemoryPlan plan;
  double error =
      0.0;  // relative error of weights, sqrt(sum of squared differences / sum of squares), on a sample of rows
  bool fits = false;
};

struct QuantizationChoices {
  std::vector<QuantizationChoice> all;       // by rising error
  const QuantizationChoice* best = nullptr;  // the first that fits; null: none does
  std::vector<std::string> table() const;    // a head, then a line for each
};

// What loading could make of the weights, and which of it takes at most `memory` bytes for weights, keys and values of
// options.length tokens, and workspace, with the least error. The error is measured: sampled rows of each matrix are
// rounded to each format. Throws LoadError.
QuantizationChoices choose_quantization(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                                        const backend::Backend& backend, MemoryPlanOptions options,
                                        std::uint64_t memory);

}  // namespace millrace::model
