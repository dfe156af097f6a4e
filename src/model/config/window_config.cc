#include "model/config/window_config.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::model {
namespace {

using checkpoint::ConfigField;
using checkpoint::ConfigView;

constexpr ConfigField kWindow{.json = {"sliding_window"}, .gguf = {"attention.sliding_window"}};
constexpr ConfigField kSwitch{.json = {"use_sliding_window"}};
// These two say nothing where there is no window.
constexpr ConfigField kLayerTypes{
    .json = {"layer_types"}, .gguf = {"attention.sliding_window_pattern"}, .neutral = "*"};
constexpr ConfigField kFullLayers{.json = {"max_window_layers"}, .neutral = "*"};

// One entry a layer: "sliding_attention" or "full_attention".
std::vector<bool> json_layers(const ConfigView& view, const nlohmann::json& types) {
  if (!types.is_array()) view.bad_value(kLayerTypes, std::string("expected a list, found ") + types.type_name());
  std::vector<bool> windows;
  for (const nlohmann::json& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      const std::string found = type.is_string() ? type.get<std::string>() : type.type_name();
      view.unsupported(kLayerTypes, "only full_attention and sliding_attention are supported, found " +
                                        checkpoint::quote_name(found));
    }
    windows.push_back(type == "sliding_attention");
  }
  return windows;
}

std::int64_t checked_window(const ConfigView& view, std::int64_t window) {
  if (window < 1 || window > checkpoint::kMaxCount) {
    view.bad_value(kWindow, fmt::format("expected 1 to {}, found {}", checkpoint::kMaxCount, window));
  }
  return window;
}

}  // namespace

void read_window(ConfigView& view, bool used, ModelConfig& config) {
  const std::int64_t window = view.integer(kWindow).value_or(0);
  const bool on = view.boolean(kSwitch).value_or(used);
  const nlohmann::json* types = view.json(kLayerTypes);
  const auto full_layers = view.integer(kFullLayers);
  if (view.gguf()) {
    config.sliding_window = window == 0 ? 0 : checked_window(view, window);
    config.layer_uses_window = view.booleans(kLayerTypes).value_or(std::vector<bool>());
    return;
  }
  if (!on || window == 0) return;
  config.sliding_window = checked_window(view, window);
  if (types != nullptr) {
    config.layer_uses_window = json_layers(view, *types);
  } else if (full_layers) {
    for (std::int64_t i = 0; i < config.n_layers; ++i) config.layer_uses_window.push_back(i >= *full_layers);
  }
  std::vector<bool>& layers = config.layer_uses_window;
  if (layers.empty()) return;
  if (static_cast<std::int64_t>(layers.size()) != config.n_layers) {
    view.bad_value(kLayerTypes, fmt::format("{} entries for {} layers", layers.size(), config.n_layers));
  }
  if (std::ranges::find(layers, true) == layers.end()) config.sliding_window = 0;
  if (std::ranges::adjacent_find(layers, std::ranges::not_equal_to()) == layers.end()) layers.clear();
}

std::span<const ConfigField> window_fields() {
  static constexpr ConfigField kFields[] = {kWindow, kSwitch, kLayerTypes, kFullLayers};
  return kFields;
}

}  // namespace millrace::model
