#include "model/config/read_config.h"

#include "base/error.h"
#include "model/model_family.h"

namespace millrace::model {
namespace {

ModelConfig read(const checkpoint::ConfigFile& file) {
  const ModelFamily* family = find_family(file);
  checkpoint::ConfigView view(file, family == nullptr ? "" : family->defaults.json);
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

}  // namespace millrace::model
