#include "model/config/read_config.h"

#include <vector>

#include "base/error.h"
#include "model/model_spec.h"

namespace millrace::model {
namespace {

ModelConfig read(const checkpoint::ConfigFile& file) {
  checkpoint::ConfigView view(file);
  const ModelFamily* family = find_family(file.architecture, file.gguf);
  return read_shared_config(view, family == nullptr ? ConfigDefaults{} : family->defaults);
}

}  // namespace

Result<ModelConfig> read_model_config(const checkpoint::Checkpoint& checkpoint) try {
  ModelConfig config = read(checkpoint.config);
  complete_from_tensors(checkpoint, config);
  return config;
} catch (const LoadError& failure) {
  return failure.error();
}

ModelConfig parse_hf_config(const std::string& file, std::string_view json) {
  return read(checkpoint::read_config_json(file, json));
}

std::span<const checkpoint::ConfigField> known_fields() {
  static const std::vector<checkpoint::ConfigField> fields = [] {
    std::vector<checkpoint::ConfigField> all(shared_fields().begin(), shared_fields().end());
    for (const ModelFamily& family : all_families()) all.insert(all.end(), family.fields.begin(), family.fields.end());
    return all;
  }();
  return fields;
}

}  // namespace millrace::model
