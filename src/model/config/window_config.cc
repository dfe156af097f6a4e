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
constexpr ConfigField kPattern{
    .json = {"sliding_window_pattern", "_sliding_window_pattern"}, .gguf = {}, .neutral = "*"};
constexpr ConfigField kFullLayers{.json = {"max_window_layers"}, .neutral = "*"};

// One entry a layer: "sliding_attention", "full_attention" or, as hybrids say, "attention".
std::vector<bool> json_layers(const ConfigView& view, const nlohmann::json& types, bool chunks) {
  if (!types.is_array()) view.bad_value(kLayerTypes, std::string("expected a list, found ") + types.type_name());
  std::vector<bool> windows;
  for (const nlohmann::json& type : types) {
    const bool known = type == "sliding_attention" || type == "full_attention" || type == "attention";
    if (!known && !(chunks && type == "chunked_attention")) {
      const std::string found = type.is_string() ? type.get<std::string>() : type.type_name();
      view.unsupported(kLayerTypes, "only full_attention and sliding_attention are supported, found " +
                                        checkpoint::quote_name(found));
    }
    windows.push_back(type == "sliding_attention");
  }
  return windows;
}

// Every period-th layer sees all tokens.
std::vector<bool> layers_of_period(std::int64_t n_layers, std::int64_t period) {
  std::vector<bool> windows;
  for (std::int64_t i = 0; i < n_layers; ++i) windows.push_back((i + 1) % period != 0);
  return windows;
}

// A period, or one of letters: "LLLG" for three layers with a window and one without.
std::int64_t json_period(ConfigView& view, std::int64_t fallback) {
  const nlohmann::json* pattern = view.json(kPattern);
  if (pattern == nullptr) return fallback;
  if (!pattern->is_string()) return view.integer(kPattern, {0, checkpoint::kMaxCount}).value_or(fallback);
  const auto letters = pattern->get<std::string>();
  const auto full = letters.find('G');
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos ||
      (full != std::string::npos && full + 1 != letters.size())) {
    view.bad_value(kPattern, "expected a number or letters L with a last G, found " + checkpoint::quote_name(letters));
  }
  return full == std::string::npos ? fallback : std::ssize(letters);
}

std::int64_t checked_window(const ConfigView& view, std::int64_t window) {
  if (window < 1 || window > checkpoint::kMaxCount) {
    view.bad_value(kWindow, fmt::format("expected 1 to {}, found {}", checkpoint::kMaxCount, window));
  }
  return window;
}

void read_gguf_layers(ConfigView& view, std::int64_t period, ModelConfig& config) {
  if (!view.has(kLayerTypes) && period > 0) {
    config.layer_uses_window = layers_of_period(config.n_layers, period);
  } else if (!view.is_list(kLayerTypes)) {
    const std::int64_t stated = view.integer(kLayerTypes, {0, checkpoint::kMaxCount}).value_or(0);
    if (stated > 1) config.layer_uses_window = layers_of_period(config.n_layers, stated);
  } else {
    config.layer_uses_window = view.booleans(kLayerTypes).value_or(std::vector<bool>());
  }
}

}  // namespace

void read_window(ConfigView& view, const WindowDefaults& defaults, ModelConfig& config) {
  const auto window = view.integer(kWindow);
  const bool on = view.boolean(kSwitch).value_or(defaults.used);
  const nlohmann::json* types = view.json(kLayerTypes);
  const auto full_layers = view.integer(kFullLayers);
  if (view.gguf()) {
    config.sliding_window = window.value_or(0) == 0 ? 0 : checked_window(view, *window);
    if (config.sliding_window > 0) read_gguf_layers(view, defaults.period, config);
    return;
  }
  view.has(kPattern);
  const std::int64_t period = types == nullptr ? json_period(view, defaults.period) : 0;
  std::vector<bool> of_types = types == nullptr ? std::vector<bool>() : json_layers(view, *types, defaults.chunks);
  if (!on || !window) return;
  config.sliding_window = checked_window(view, *window);
  if (types != nullptr) {
    config.layer_uses_window = std::move(of_types);
  } else if (full_layers) {
    for (std::int64_t i = 0; i < config.n_layers; ++i) config.layer_uses_window.push_back(i >= *full_layers);
  } else if (period > 0) {
    config.layer_uses_window = layers_of_period(config.n_layers, period);
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
  static constexpr ConfigField kFields[] = {kWindow, kSwitch, kLayerTypes, kPattern, kFullLayers};
  return kFields;
}

}  // namespace millrace::model
