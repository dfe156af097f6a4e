#include "model/config/rope_config.h"

#include <cmath>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::model {
namespace {

using checkpoint::ConfigField;
using checkpoint::ConfigView;
using checkpoint::JsonFields;
using checkpoint::quote_name;

constexpr ConfigField kTheta{.json = {"rope_theta"}, .gguf = {"rope.freq_base"}};
constexpr ConfigField kParameters{.json = {"rope_parameters", "rope_scaling"}};
constexpr ConfigField kPartial{.json = {"partial_rotary_factor"}, .neutral = "1.0"};
constexpr ConfigField kDimensions{.gguf = {"rope.dimension_count"}, .neutral = "*"};
constexpr ConfigField kOldLinear{.gguf = {"rope.scale_linear"}, .neutral = "1.0"};
constexpr ConfigField kType{.gguf = {"rope.scaling.type"}, .neutral = "\"none\""};
constexpr ConfigField kFactor{.gguf = {"rope.scaling.factor"}, .neutral = "1.0"};
constexpr ConfigField kOriginal{.gguf = {"rope.scaling.original_context_length"}, .neutral = "*"};
constexpr ConfigField kBetaFast{.gguf = {"rope.scaling.yarn_beta_fast"}, .neutral = "*"};
constexpr ConfigField kBetaSlow{.gguf = {"rope.scaling.yarn_beta_slow"}, .neutral = "*"};
constexpr ConfigField kMagnitude{.gguf = {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"},
                                 .neutral = "1.0"};

RopeScaling::Kind kind_of(const JsonFields& scaling) {
  auto type = scaling.text("rope_type");
  if (!type) type = scaling.text("type");
  if (!type || *type == "default") return RopeScaling::Kind::kNone;
  if (*type == "linear") return RopeScaling::Kind::kLinear;
  if (*type == "dynamic") return RopeScaling::Kind::kDynamic;
  if (*type == "yarn") return RopeScaling::Kind::kYarn;
  if (*type == "llama3") return RopeScaling::Kind::kLlama3;
  scaling.unsupported("rope_type", "rope scaling " + quote_name(*type) + " is not supported");
}

RopeScaling json_scaling(const JsonFields& fields) {
  RopeScaling out;
  out.kind = kind_of(fields);
  if (out.kind == RopeScaling::Kind::kNone) return out;
  const auto factor = fields.number("factor");
  if (!factor) fields.wrong_type("factor", "a number");
  out.factor = *factor;
  out.original_context = fields.integer("original_max_position_embeddings").value_or(0);
  out.low_freq_factor = fields.number("low_freq_factor").value_or(out.low_freq_factor);
  out.high_freq_factor = fields.number("high_freq_factor").value_or(out.high_freq_factor);
  out.beta_fast = fields.number("beta_fast").value_or(out.beta_fast);
  out.beta_slow = fields.number("beta_slow").value_or(out.beta_slow);
  out.attention_factor = fields.number("attention_factor");
  out.mscale = fields.number("mscale");
  out.mscale_all_dim = fields.number("mscale_all_dim");
  out.truncate = fields.boolean("truncate").value_or(true);
  return out;
}

void read_json_rope(ConfigView& view, ModelConfig& config) {
  const auto parameters = view.object(kParameters);
  if (const auto theta = view.number(kTheta)) config.rope_theta = *theta;
  auto partial = view.number(kPartial);
  if (parameters) {
    if (parameters->find("full_attention") != nullptr || parameters->find("sliding_attention") != nullptr) {
      parameters->unsupported("full_attention", "rope parameters by layer type are not supported");
    }
    if (const auto theta = parameters->number("rope_theta")) config.rope_theta = *theta;
    if (const auto inner = parameters->number("partial_rotary_factor")) partial = inner;
    config.rope_scaling = json_scaling(*parameters);
  }
  if (partial && !(*partial > 0.0 && *partial <= 1.0)) {
    view.bad_value(kPartial, fmt::format("expected a number above 0 and up to 1, found {}", *partial));
  }
  config.rope_dim =
      partial ? static_cast<std::int64_t>(static_cast<double>(config.head_dim) * *partial) : config.head_dim;
}

RopeScaling gguf_scaling(ConfigView& view) {
  RopeScaling scaling;
  const auto old_linear = view.number(kOldLinear);
  const std::string type = view.text(kType).value_or(old_linear ? "linear" : "none");
  const auto factor = view.number(kFactor), beta_fast = view.number(kBetaFast), beta_slow = view.number(kBetaSlow);
  const auto original = view.integer(kOriginal);
  const auto magnitude = view.number(kMagnitude);
  if (type == "none") return scaling;
  if (type != "linear" && type != "yarn") {
    view.unsupported(kType, "rope scaling " + quote_name(type) + " is not supported");
  }
  scaling.kind = type == "linear" ? RopeScaling::Kind::kLinear : RopeScaling::Kind::kYarn;
  scaling.factor = old_linear ? *old_linear : factor.value_or(1.0);
  scaling.original_context = original.value_or(0);
  scaling.beta_fast = beta_fast.value_or(scaling.beta_fast);
  scaling.beta_slow = beta_slow.value_or(scaling.beta_slow);
  // GGUF's factor multiplies YaRN's own magnitude; ours replaces it.
  if (magnitude) {
    scaling.attention_factor = *magnitude * (scaling.factor > 1.0 ? 0.1 * std::log(scaling.factor) + 1.0 : 1.0);
  }
  return scaling;
}

}  // namespace

void read_rope(ConfigView& view, ModelConfig& config) {
  if (!view.gguf()) return read_json_rope(view, config);
  config.rope_dim = view.integer(kDimensions).value_or(config.head_dim);
  config.rope_theta = view.number(kTheta).value_or(config.rope_theta);
  config.rope_scaling = gguf_scaling(view);
}

std::span<const ConfigField> rope_fields() {
  static constexpr ConfigField kFields[] = {kTheta,  kParameters, kPartial,  kDimensions, kOldLinear, kType,
                                            kFactor, kOriginal,   kBetaFast, kBetaSlow,   kMagnitude};
  return kFields;
}

}  // namespace millrace::model
