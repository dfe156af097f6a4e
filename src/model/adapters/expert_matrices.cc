#include "model/adapters/expert_matrices.h"

#include <algorithm>
#include <optional>
#include <span>

#include "backend/source_rows.h"
#include "model/adapters/adapter_names.h"

namespace millrace::model {
namespace {

std::size_t place(std::int64_t row, std::int64_t width, std::int64_t column) noexcept {
  return static_cast<std::size_t>(row * width + column);
}

std::string a_of(const std::string& module) { return module + kMatrixA; }
std::string b_of(const std::string& module) { return module + kMatrixB; }

// What the shapes leave possible; nothing: both, or none.
std::optional<StackedForm> form_of_shapes(const AdapterFiles& files, const ModelSpec& spec, const std::string& module,
                                          const ExpertShape& shape) {
  const checkpoint::RawTensor* a = files.tensors.find(spec.names.in_file(a_of(module)));
  const checkpoint::RawTensor* b = files.tensors.find(spec.names.in_file(b_of(module)));
  if (a == nullptr || b == nullptr || a->shape.rank() != 2 || b->shape.rank() != 2) return std::nullopt;
  const bool as_linear = a->shape[1] == shape.inputs && b->shape[0] == shape.outputs;
  const bool swapped = a->shape[1] == shape.outputs && b->shape[0] == shape.inputs;
  if (as_linear == swapped) return std::nullopt;
  return as_linear ? StackedForm::kAsLinear : StackedForm::kSwapped;
}

}  // namespace

ExpertMatrices no_matrices(const ExpertShape& shape, std::int64_t rank) {
  ExpertMatrices none{.rank = rank + rank % 2};
  none.a.resize(place(shape.experts * none.rank, shape.inputs, 0));
  none.b.resize(place(shape.experts * shape.outputs, none.rank, 0));
  return none;
}

StackedForm form_of_stack(const AdapterFiles& files, const ModelSpec& spec, const std::string& module,
                          const ExpertShape& shape, bool inputs_first) {
  if (const auto own = form_of_shapes(files, spec, module, shape)) return *own;
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    for (const BlockSpec& block : spec.layers[layer].blocks) {
      for (const BlockWeight& other : block_weights(block, spec, [](const std::string&) { return true; })) {
        if (other.experts == 0) continue;
        const auto form =
            form_of_shapes(files, spec, WeightLoader::layer_name(other.name, static_cast<std::int64_t>(layer)),
                           {other.experts, other.tensor_rows(), other.cols});
        if (form) return *form;
      }
    }
  }
  return files.config.takes_inputs_first() && !inputs_first ? StackedForm::kSwapped : StackedForm::kAsLinear;
}

// Row e * rank + r of A, and column r * experts + e of B, are those of rank r of expert e.
ExpertMatrices read_stacked(WeightLoader& loader, const std::string& module, const ExpertShape& shape,
                            std::int64_t rank, StackedForm form) {
  const bool swapped = form == StackedForm::kSwapped;
  const std::int64_t ranks = rank * shape.experts;
  const std::int64_t cols_of_a = swapped ? shape.outputs : shape.inputs;
  const std::int64_t rows_of_b = swapped ? shape.inputs : shape.outputs;
  const std::vector<float> a = backend::source_values(loader.linear(a_of(module), ranks, cols_of_a));
  const std::vector<float> b = backend::source_values(loader.linear(b_of(module), rows_of_b, ranks));
  ExpertMatrices made = no_matrices(shape, rank);
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    for (std::int64_t r = 0; r < rank; ++r) {
      const auto of_a = [&](std::int64_t i) { return a[place(e * rank + r, cols_of_a, i)]; };
      const auto of_b = [&](std::int64_t i) { return b[place(i, ranks, r * shape.experts + e)]; };
      for (std::int64_t i = 0; i < shape.inputs; ++i) {
        made.a[place(e * made.rank + r, shape.inputs, i)] = swapped ? of_b(i) : of_a(i);
      }
      for (std::int64_t i = 0; i < shape.outputs; ++i) {
        made.b[place(e * shape.outputs + i, made.rank, r)] = swapped ? of_a(i) : of_b(i);
      }
    }
  }
  return made;
}

void read_expert(WeightLoader& loader, const std::string& module, const ExpertShape& shape, std::int64_t rank,
                 std::int64_t expert, ExpertMatrices& to) {
  const std::vector<float> a = backend::source_values(loader.linear(a_of(module), rank, shape.inputs));
  const std::vector<float> b = backend::source_values(loader.linear(b_of(module), shape.outputs, rank));
  std::ranges::copy(a, to.a.begin() + expert * to.rank * shape.inputs);
  for (std::int64_t i = 0; i < shape.outputs; ++i) {
    std::ranges::copy(std::span(b).subspan(place(i, rank, 0), static_cast<std::size_t>(rank)),
                      to.b.begin() + (expert * shape.outputs + i) * to.rank);
  }
}

}  // namespace millrace::model
