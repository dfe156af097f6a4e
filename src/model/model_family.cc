#include "model/model_family.h"

#include <algorithm>

namespace millrace::model {

const ModelFamily* find_family(std::string_view architecture, bool gguf) {
  for (const ModelFamily& family : all_families()) {
    const auto& names = gguf ? family.gguf : family.hf;
    if (std::ranges::find(names, architecture) != names.end()) return &family;
  }
  return nullptr;
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
