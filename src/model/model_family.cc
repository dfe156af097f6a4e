#include "model/model_family.h"

#include <algorithm>

namespace millrace::model {

const ModelFamily* find_family(const checkpoint::ConfigFile& config) {
  const auto lists = [](const std::vector<std::string_view>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto families = all_families();
  auto found = std::ranges::find_if(
      families, [&](const ModelFamily& f) { return lists(config.gguf ? f.gguf : f.hf, config.architecture); });
  if (found == families.end() && !config.text_type.empty()) {
    found = std::ranges::find_if(families, [&](const ModelFamily& f) { return lists(f.text_types, config.text_type); });
  }
  return found == families.end() ? nullptr : &*found;
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
