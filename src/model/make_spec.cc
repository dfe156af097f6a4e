#include "model/make_spec.h"

#include "model/block.h"
#include "model/file_names.h"
#include "model/model_family.h"
#include "model/nearest_family.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
using checkpoint::Checkpoint;

Result<ModelSpec> make_spec(const Checkpoint& checkpoint, const backend::Limits& limits) try {
  const ModelFamily* family = find_family(checkpoint.config);
  if (family == nullptr) return unknown_architecture(checkpoint);
  checkpoint::ConfigView view(checkpoint.config, family->defaults.json);
  ModelConfig config = read_shared_config(view, family->defaults);
  check_quantization(checkpoint);
  complete_from_tensors(checkpoint, config);
  ModelSpec spec = family->spec(view, config);
  view.check_unread(known_fields());
  spec.unread_fields = view.unread();
  spec.family = family->name;
  find_file_names(checkpoint, spec.names);
  if (auto checked = check_dimensions(spec, limits); !checked) return checked.error();
  return spec;
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace millrace::model
