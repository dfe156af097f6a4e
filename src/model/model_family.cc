#include "model/model_family.h"

#include <algorithm>

namespace millrace::model {
namespace {

const TextType* find_text_type(const ModelFamily& family, const checkpoint::ConfigFile& config) {
  const auto found = std::ranges::find(family.text_types, config.text_type, &TextType::name);
  return config.text_type.empty() || found == family.text_types.end() ? nullptr : &*found;
}

}  // namespace

const ModelFamily* find_family(const checkpoint::ConfigFile& config) {
  const auto lists = [](const std::vector<std::string_view>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto families = all_families();
  auto found = std::ranges::find_if(
      families, [&](const ModelFamily& f) { return lists(config.gguf ? f.gguf : f.hf, config.architecture); });
  if (found == families.end() && !config.text_type.empty()) {
    found = std::ranges::find_if(families, [&](const ModelFamily& f) {
      return f.name == config.text_type || find_text_type(f, config) != nullptr;
    });
  }
  return found == families.end() ? nullptr : &*found;
}

checkpoint::ConfigView view_as(const ModelFamily& family, const checkpoint::ConfigFile& config) {
  const TextType* text = find_text_type(family, config);
  if (text == nullptr || text->json.empty()) return {config, family.defaults.json};
  if (family.defaults.json.empty()) return {config, text->json};
  nlohmann::json defaults = nlohmann::json::parse(family.defaults.json);
  defaults.update(nlohmann::json::parse(text->json));
  return {config, defaults.dump()};
}

std::string_view refusal(const checkpoint::ConfigFile& config) {
  constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
      {"PaliGemmaForConditionalGeneration", "every token of a prompt attends to all of it, which is not supported"},
  };
  const auto found =
      std::ranges::find(kRefused, config.architecture, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kRefused) ? std::string_view() : found->second;
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
