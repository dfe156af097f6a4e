// Granite with windows and sinks (IBM): a rotation for each layer, or none.
#include "model/granite_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kGraniteSwaThetas{
    .json = {"layer_rope_theta"}, .gguf = {"attention.rope_pattern"}, .neutral = "*"};

std::vector<checkpoint::ConfigField> granite_swa_fields() {
  std::vector<checkpoint::ConfigField> all = granite_fields();
  all.push_back(kGraniteSwaThetas);
  return all;
}

}  // namespace

ModelFamily granite_swa() {
  return {.name = "granite_swa",
          .hf = {"GraniteSWAForCausalLM"},
          .gguf = {"granite_swa"},
          .defaults = {.json = R"({"attention_multiplier": 1.0})"},
          .fields = granite_swa_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = granite_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            each_attention(spec, [](AttentionParams& a) { a.sinks = true; });
            std::vector<double> thetas =
                view.gguf() ? std::vector<double>() : view.numbers(kGraniteSwaThetas).value_or(std::vector<double>());
            for (const bool rotates : view.booleans(kGraniteSwaThetas).value_or(std::vector<bool>())) {
              thetas.push_back(rotates ? config.rope.theta : 0.0);
            }
            if (!thetas.empty() && std::ssize(thetas) != config.n_layers) {
              view.bad_value(kGraniteSwaThetas,
                             fmt::format("{} entries for {} layers", thetas.size(), config.n_layers));
            }
            rotate_layers_by(spec, thetas);
            return spec;
          }};
}

}  // namespace millrace::model::families
