#include "model/adapters/adapter_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace millrace::model {
namespace {

// Wrappers in front of the base's names, several where one was wrapped once more: of PEFT, data-parallel training and
// torch.compile.
constexpr std::string_view kPrefixes[] = {"base_model.model.", "module.", "_orig_mod."};
constexpr std::string_view kCompiled = "._orig_mod.";

// Other spellings of the ends of names.
constexpr std::pair<std::string_view, std::string_view> kEnds[] = {
    {".lora_down.weight", ".lora_A.weight"},
    {".lora_up.weight", ".lora_B.weight"},
    {".lora.down.weight", ".lora_A.weight"},
    {".lora.up.weight", ".lora_B.weight"},
    {".lora_linear_layer.down.weight", ".lora_A.weight"},
    {".lora_linear_layer.up.weight", ".lora_B.weight"},
    {".original_module.weight", ".base_layer.weight"},  // the base's, beside a whole copy
};

// Parts behind which a checkpoint of training has the adapter's name: "lora_A.default.weight". The saved one has not.
struct NamedPart {
  std::string_view part, saved, end;
};
constexpr NamedPart kNamedParts[] = {
    {".lora_A.", ".lora_A.weight", ".weight"},
    {".lora_B.", ".lora_B.weight", ".weight"},
    {".lora_B.", ".lora_B.bias", ".bias"},
    {".lora_embedding_A.", ".lora_embedding_A", ""},
    {".lora_embedding_B.", ".lora_embedding_B", ""},
    {".lora_magnitude_vector.", ".lora_magnitude_vector", ".weight"},
    {".lora_magnitude_vector.", ".lora_magnitude_vector", ""},
    {".modules_to_save.", ".weight", ".weight"},
    {".modules_to_save.", ".bias", ".bias"},
};

// What Kohya's scripts put in front of flat names, by the model: text encoders, the network, or any.
constexpr std::string_view kFlatPrefixes[] = {"lora_te_",   "lora_te1_",         "lora_te2_", "lora_te3_",
                                              "lora_unet_", "lora_transformer_", "lora_",     "lycoris_"};

bool erase_prefix(std::string& name) {
  for (const std::string_view prefix : kPrefixes) {
    if (!name.starts_with(prefix)) continue;
    name.erase(0, prefix.size());
    return true;
  }
  return false;
}

std::string flattened(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

}  // namespace

std::string plain_adapter_name(std::string name) {
  while (erase_prefix(name)) {
  }
  for (std::size_t at = name.find(kCompiled); at != std::string::npos; at = name.find(kCompiled)) {
    name.erase(at, kCompiled.size() - 1);
  }
  for (const auto& [end, plain] : kEnds) {
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size()) + std::string(plain);
  }
  for (const auto& [part, saved, end] : kNamedParts) {
    const std::size_t at = name.find(part);
    if (at == std::string::npos || !name.ends_with(end)) continue;
    const std::size_t first = at + part.size(), length = name.size() - std::min(name.size(), first + end.size());
    const std::string middle = name.substr(first, length);  // of the adapter
    if (middle.find('.') == std::string::npos) return name.substr(0, at) + std::string(saved);
  }
  return name;
}

bool is_flat_name(const std::string& name) {
  const std::string module = name.substr(0, name.find('.'));
  return module.find('_') != std::string::npos && name.find(".layers.") == std::string::npos;
}

std::string unflattened_name(const std::string& name, std::span<const std::string> modules) {
  if (!is_flat_name(name)) return name;
  const std::size_t dot = std::min(name.find('.'), name.size());
  std::string flat = name.substr(0, dot);
  for (const std::string_view prefix : kFlatPrefixes) {
    if (!flat.starts_with(prefix)) continue;
    flat.erase(0, prefix.size());
    break;
  }
  // Some scripts begin inside the model: "layers_0_..." of "model.layers.0...".
  for (const std::string& module : modules) {
    if (flattened(module) == flat || flattened(module.substr(module.find('.') + 1)) == flat) {
      return module + name.substr(dot);
    }
  }
  return name;
}

}  // namespace millrace::model
