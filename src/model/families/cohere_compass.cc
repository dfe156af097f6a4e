// The text model of North Micro Vision (Cohere, 2026): Command R7B's layer rotated by halves. Which kinds of layers
// rotate is said by which have parameters of a rotation.
#include "model/cohere_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kCompassRotations{.json = {"rope_parameters"}};

}  // namespace

ModelFamily cohere_compass() {
  return {.name = "cohere_compass",
          .hf = {"CohereCompassForCausalLM", "CohereCompassForConditionalGeneration"},
          .gguf = {},
          .text_types = {{"cohere_compass_text", kCohereSizes}},
          .defaults = {.json = R"({"sliding_window": 4096})", .norm_eps = 1e-5, .tied_head = true},
          .fields = {kLogitScale, kCompassRotations},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = cohere_spec(view, config);
            const auto rotations = view.object(kCompassRotations);
            const bool full = rotations && rotations->object("full_attention");
            const bool sliding = rotations && rotations->object("sliding_attention");
            each_attention(spec, [&](AttentionParams& a) {
              a.rotary_pairs = false;
              if ((full || sliding) && !(a.window > 0 ? sliding : full)) a.rope = -1;
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
