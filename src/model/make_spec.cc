#include "model/make_spec.h"

#include <string>

#include "model/block.h"
#include "model/model_family.h"
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
