#include "model/model_spec.h"

#include <algorithm>

#include "model/block.h"
#include "model/config/read_config.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

std::string known_architectures() {
  std::string text;
  for (const ModelFamily& family : all_families()) {
    for (const std::string_view name : family.hf) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace

Result<void> check_dimensions(const ModelSpec& spec, const backend::Limits& limits) {
  if (spec.hidden_size % 2 != 0) return unsupported_dimension("hidden_size", spec.hidden_size, "even");
  for (const LayerSpec& layer : spec.layers) {
    for (const BlockSpec& block : layer.blocks) {
      if (auto checked = kind_of(block).check(block, spec, limits); !checked) return checked;
    }
  }
  return {};
}

const ModelFamily* find_family(std::string_view architecture, bool gguf) {
  for (const ModelFamily& family : all_families()) {
    const auto& names = gguf ? family.gguf : family.hf;
    if (std::ranges::find(names, architecture) != names.end()) return &family;
  }
  return nullptr;
}

Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint, const backend::Limits& limits) try {
  checkpoint::ConfigView view(checkpoint.config);
  const ModelFamily* family = find_family(checkpoint.config.architecture, view.gguf());
  if (family == nullptr) {
    return make_error(ErrorCode::kUnsupported, "architecture", "{}: unknown architecture '{}'; known: {}",
                      checkpoint.path, checkpoint.config.architecture, known_architectures());
  }
  ModelConfig config = read_shared_config(view, family->defaults);
  check_quantization(checkpoint);
  complete_from_tensors(checkpoint, config);
  ModelSpec spec = family->spec(view, config, checkpoint.container);
  view.check_unread(known_fields());
  spec.unread_fields = view.unread();
  spec.family = family->name;
  if (auto checked = check_dimensions(spec, limits); !checked) return checked.error();
  return spec;
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace millrace::model
