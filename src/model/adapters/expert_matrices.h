#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/adapters/adapter_files.h"
#include "model/model_spec.h"
#include "model/weight_loader.h"

namespace millrace::model {

// A and B of an adapter for a weight of all experts, each [experts, ...] in f32: those of one expert behind those of
// the other.
struct ExpertMatrices {
  std::int64_t rank = 0;    // even: the greatest. Numbers beyond an expert's own are 0
  std::vector<float> a, b;  // [experts, rank, inputs], [experts, outputs, rank]
};

// The weight of experts that they are for.
struct ExpertShape {
  std::int64_t experts = 0, outputs = 0, inputs = 0;
};

// How PEFT has the matrices of a parameter [experts, ., .], with A [rank * experts, .] and B [., rank * experts]:
// B gives outputs and A takes inputs, or, where PEFT took outputs for inputs, the other way round.
enum class StackedForm { kAsLinear, kSwapped };
// What the shapes of the parameter's tensors say or, where they say nothing, those of others of the file, then the
// version of PEFT. `spec` has the adapter's names; `inputs_first`: the parameter is [experts, inputs, outputs].
StackedForm form_of_stack(const AdapterFiles& files, const ModelSpec& spec, const std::string& module,
                          const ExpertShape& shape, bool inputs_first);

// Reads the matrices of such a parameter, of that rank for each expert. Throws LoadError naming the tensor.
ExpertMatrices read_stacked(WeightLoader& loader, const std::string& module, const ExpertShape& shape,
                            std::int64_t rank, StackedForm form);

// Reads the matrices of a module of one expert into those of all, whose rank is at least `rank`.
void read_expert(WeightLoader& loader, const std::string& module, const ExpertShape& shape, std::int64_t rank,
                 std::int64_t expert, ExpertMatrices& to);

// Memory of zeros for a rank.
ExpertMatrices no_matrices(const ExpertShape& shape, std::int64_t rank);

}  // namespace millrace::model
