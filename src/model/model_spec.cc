#include "model/model_spec.h"

#include "model/block.h"

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
  return kv::check_groups(kv::group_layers(kv_needs(spec), {}));
}

Result<ModelSpec> make_spec(const checkpoint::Checkpoint& checkpoint) {
  const bool gguf = checkpoint.container == checkpoint::Checkpoint::Container::kGguf;
  for (const ModelFamily& family : all_families()) {
    for (const std::string_view name : gguf ? family.gguf : family.hf) {
      if (name != checkpoint.config.architecture) continue;
      try {
        ModelSpec spec = family.spec(checkpoint.config, checkpoint.container);
        spec.family = family.name;
        if (auto checked = check_dimensions(spec); !checked) return checked.error();
        return spec;
      } catch (const LoadError& failure) {
        return failure.error();
      }
    }
  }
  return make_error(ErrorCode::kUnsupported, "architecture", "{}: unknown architecture '{}'; known: {}",
                    checkpoint.path, checkpoint.config.architecture, known_architectures());
}

}  // namespace millrace::model
