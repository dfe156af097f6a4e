// Nanbeige 4.2: Llama's layers, gone through several times, each time with keys and values of its own. The final norm
// also stands between the times.
#include "model/config/config_check.h"
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kLoops{.json = {"num_loops"}, .gguf = {"num_loops"}, .neutral = "1"};
constexpr ConfigField kSkipsNorm{.json = {"skip_loop_final_norm"}, .gguf = {"skip_loop_final_norm"}, .neutral = "*"};

void loop_layers(ModelSpec& spec, std::int64_t loops, bool norm_between) {
  const std::vector<LayerSpec> once = spec.layers;
  for (std::int64_t loop = 1; loop < loops; ++loop) {
    if (norm_between) spec.layers.back().block<MlpParams>().output.sum_norm_name = spec.names.final_norm;
    for (std::size_t i = 0; i < once.size(); ++i) {
      spec.layers.push_back(once[i]);
      spec.layers.back().weights_of = static_cast<std::int64_t>(i);
    }
  }
}

}  // namespace

ModelFamily nanbeige() {
  return {.name = "nanbeige",
          .hf = {"NanbeigeForCausalLM"},
          .gguf = {"nanbeige"},
          .defaults = {.code_is_known = true},
          .fields = {kLoops, kSkipsNorm},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            const std::int64_t loops = view.integer(kLoops, {1, kMaxLayers / config.n_layers}).value_or(1);
            loop_layers(spec, loops, !view.boolean(kSkipsNorm).value_or(false));
            return spec;
          }};
}

}  // namespace millrace::model::families
