#include "model/adapters/linear_modules.h"

#include <algorithm>

#include "backend/source_rows.h"
#include "model/make_spec.h"

namespace millrace::model {
namespace {

// The file's name, unless the file is that of a model without a head, which leaves out what is in front of the layers.
std::string module_name(const WeightNames& names, const std::string& name) {
  const std::string in_file = names.in_file(name);
  return name.ends_with(in_file) ? name : in_file;
}

// Adds the weight's rows to the module that they belong to.
void add_part(std::vector<LinearModule>& modules, const std::string& name, LinearModule::Part part) {
  const auto found = std::ranges::find(modules, name, &LinearModule::name);
  if (found != modules.end()) {
    found->parts.push_back(std::move(part));
    return;
  }
  const std::int64_t rows = part.module.tensor_rows(), cols = part.module.cols;
  modules.push_back({.name = name, .rows = rows, .cols = cols, .parts = {std::move(part)}});
}

// What adapters call the weights of a block. A GGUF file does not say whether Q, K and V are apart in the model that it
// was made of: they are where the family has names for them.
std::vector<BlockWeight> module_weights_of(const BlockSpec& block, const ModelSpec& spec, bool gguf,
                                           const HasTensor& has) {
  if (!gguf) return block_weights(block, spec, has);
  std::vector<BlockWeight> apart = block_weights(block, spec, [](const std::string&) { return false; });
  const auto is_nameless = [](const BlockWeight& weight) { return weight.cols > 0 && weight.name.empty(); };
  if (std::ranges::none_of(apart, is_nameless)) return apart;
  return block_weights(block, spec, [](const std::string&) { return true; });
}

std::vector<LinearModule> modules_of_layer(const LayerSpec& ours, const LayerSpec& base_layer, std::int64_t layer,
                                           const ModelSpec& module_spec, const ModelSpec& spec,
                                           const WeightLoader& files, bool gguf) {
  std::vector<LinearModule> modules;
  const HasTensor has_base = files.in_layer(layer);
  for (std::size_t b = 0; b < base_layer.blocks.size(); ++b) {
    const std::vector<BlockWeight> bases = block_weights(base_layer.blocks[b], spec, has_base);
    for (const BlockWeight& weight : module_weights_of(ours.blocks[b], module_spec, gguf, has_base)) {
      const auto base = std::ranges::find(bases, weight.role, &BlockWeight::role);
      const bool linear = weight.cols > 0 && weight.experts == 0 && !weight.exact && !weight.whole_name &&
                          base != bases.end() && base->rows == weight.rows && base->cols == weight.cols;
      if (!linear) continue;
      const std::string name = module_name(module_spec.names, WeightLoader::layer_name(weight.name, layer));
      add_part(modules, name, {weight, *base, WeightLoader::layer_name(base->tensor(), layer)});
    }
  }
  return modules;
}

}  // namespace

std::vector<LinearModule> linear_modules(const checkpoint::Checkpoint& base, const ModelSpec& spec) {
  const ModelSpec module_spec = make_module_spec(base);
  const WeightLoader files(base, spec);
  std::vector<LinearModule> all;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!spec.layers[i].has_weights()) continue;
    const auto layer = static_cast<std::int64_t>(i);
    auto modules =
        modules_of_layer(module_spec.layers[i], spec.layers[i], layer, module_spec, spec, files, base.config.gguf);
    std::ranges::move(modules, std::back_inserter(all));
  }
  if (spec.tied_head || spec.unit_head || module_spec.names.head.empty()) return all;
  BlockWeight head{.role = "output", .name = spec.names.head, .rows = spec.vocab_size, .cols = spec.embedding_width()};
  const std::string tensor = head.tensor();
  add_part(all, module_name(module_spec.names, module_spec.names.head), {head, head, tensor});
  return all;
}

std::vector<float> module_weights(const LinearModule& module, WeightLoader& files) {
  std::vector<float> all(static_cast<std::size_t>(module.rows * module.cols));
  for (const LinearModule::Part& part : module.parts) {
    BlockWeight weight = part.base;
    weight.zero_rows = weight.zero_cols = 0;
    const backend::WeightSource source = weight.role == "output"
                                             ? files.linear(part.base_tensor, weight.rows, weight.cols)
                                             : files.linear(part.base_tensor, weight);
    for (std::int64_t i = 0; i < weight.rows; ++i) {
      const std::vector<float> row = backend::source_row(source, i);
      float* to = all.data() + tensor_row(part.module, i) * module.cols;
      for (std::int64_t j = 0; j < module.cols; ++j) {
        to[part.module.column_turns.place(j, module.cols)] = row[static_cast<std::size_t>(j)];
      }
    }
  }
  return all;
}

}  // namespace millrace::model
