// HyperCLOVA X (arXiv:2404.01954): Granite's factors and, if so configured, norms behind the blocks too.
#include "model/granite_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kPostNorm{.json = {"use_post_norm"}};

std::vector<checkpoint::ConfigField> hyperclovax_fields() {
  std::vector<checkpoint::ConfigField> all = granite_fields();
  all.push_back(kPostNorm);
  return all;
}

}  // namespace

ModelFamily hyperclovax() {
  return {.name = "hyperclovax",
          .hf = {"HyperCLOVAXForCausalLM"},
          .gguf = {},
          .text_types = {{"hyperclovax", kLlamaSizes}},
          .defaults = {.code_is_known = true},
          .fields = hyperclovax_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = granite_spec(view, config);
            spec.logit_scale = 1.0f / spec.logit_scale;  // a factor here
            if (view.boolean(kPostNorm).value_or(false)) add_post_norms(spec, false, "post_norm1", "post_norm2");
            return spec;
          }};
}

}  // namespace millrace::model::families
