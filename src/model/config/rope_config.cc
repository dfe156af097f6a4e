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

constexpr ConfigField kTheta{.json = {"rope_theta", "rotary_emb_base", "rope_freq_constant", "global_rope_theta"},
                             .gguf = {"rope.freq_base"}};
constexpr ConfigField kSlidingTheta{
    .json = {"rope_local_base_freq", "rope_local_theta", "local_rope_theta", "swa_rope_theta"},
    .gguf = {"rope.freq_base_swa"},
    .neutral = "*"};
constexpr ConfigField kParameters{.json = {"rope_parameters", "rope_scaling"}};
constexpr ConfigField kPartial{.json = {"partial_rotary_factor", "rotary_pct", "rope_pct"}, .neutral = "1.0"};
constexpr ConfigField kOriginalContext{.json = {"original_max_position_embeddings"}, .neutral = "*"};
constexpr ConfigField kDimensions{.json = {"rotary_dim"}, .gguf = {"rope.dimension_count"}, .neutral = "*"};
constexpr ConfigField kSlidingDimensions{.gguf = {"rope.dimension_count_swa"}, .neutral = "*"};
constexpr ConfigField kOldLinear{.gguf = {"rope.scale_linear"}, .neutral = "1.0"};
constexpr ConfigField kType{.gguf = {"rope.scaling.type"}, .neutral = "\"none\""};
constexpr ConfigField kFactor{.gguf = {"rope.scaling.factor"}, .neutral = "1.0"};
constexpr ConfigField kOriginal{.gguf = {"rope.scaling.original_context_length"}, .neutral = "*"};
constexpr ConfigField kBetaFast{.gguf = {"rope.scaling.yarn_beta_fast"}, .neutral = "*"};
constexpr ConfigField kBetaSlow{.gguf = {"rope.scaling.yarn_beta_slow"}, .neutral = "*"};
constexpr ConfigField kMagnitude{.gguf = {"rope.scaling.attn_factor"}, .neutral = "1.0"};
constexpr ConfigField kYarnMagnitude{.gguf = {"rope.scaling.yarn_attn_factor"}, .neutral = "1.0"};
constexpr ConfigField kYarnMultiplier{.gguf = {"rope.scaling.yarn_log_multiplier"}, .neutral = "0.0"};

RopeScaling::Kind kind_of(const JsonFields& scaling) {
  auto type = scaling.text("rope_type");
  if (!type) type = scaling.text("type");
  if (!type || *type == "default") return RopeScaling::Kind::kNone;
  if (*type == "linear") return RopeScaling::Kind::kLinear;
  if (*type == "dynamic") return RopeScaling::Kind::kDynamic;
  if (*type == "yarn") return RopeScaling::Kind::kYarn;
  if (*type == "llama3") return RopeScaling::Kind::kLlama3;
  if (*type == "longrope" || *type == "su") return RopeScaling::Kind::kLongRope;
  if (*type == "mrope") return RopeScaling::Kind::kNone;  // of text alone all sections have the same position
  scaling.unsupported("rope_type", "rope scaling " + quote_name(*type) + " is not supported");
}

RopeScaling json_scaling(const JsonFields& fields, const ModelConfig& config, std::optional<std::int64_t> original) {
  RopeScaling out;
  out.kind = kind_of(fields);
  if (out.kind == RopeScaling::Kind::kNone) return out;
  const bool longrope = out.kind == RopeScaling::Kind::kLongRope;
  out.original_context = fields.integer("original_max_position_embeddings").value_or(original.value_or(0));
  const auto factor = fields.number("factor"), alpha = fields.number("alpha");
  if (!factor && !longrope && !alpha) fields.wrong_type("factor", "a number");
  const auto stretch = [&] {
    if (out.original_context < 1) fields.wrong_type("original_max_position_embeddings", "a positive integer");
    return static_cast<double>(config.context_length) / static_cast<double>(out.original_context);
  };
  out.factor = factor || !longrope ? factor.value_or(1.0) : stretch();
  out.alpha = alpha.value_or(0.0);
  out.low_freq_factor = fields.number("low_freq_factor").value_or(out.low_freq_factor);
  out.high_freq_factor = fields.number("high_freq_factor").value_or(out.high_freq_factor);
  out.beta_fast = fields.number("beta_fast").value_or(out.beta_fast);
  out.beta_slow = fields.number("beta_slow").value_or(out.beta_slow);
  out.attention_factor = fields.number("attention_factor");
  if (out.kind == RopeScaling::Kind::kYarn) {
    out.mscale = fields.number("mscale");
    out.mscale_all_dim = fields.number("mscale_all_dim");
  }
  out.truncate = fields.boolean("truncate").value_or(true);
  if (!longrope) return out;
  const auto list = [&](std::string_view key) {
    const auto factors = fields.numbers(key);
    if (!factors || factors->empty()) fields.wrong_type(key, "a list of numbers");
    return *factors;
  };
  out.short_factors = list("short_factor");
  out.long_factors = list("long_factor");
  return out;
}

// What config.json says beside rope_parameters.
struct JsonDefaults {
  std::optional<double> partial;
  std::optional<std::int64_t> dim, original;
};

RopeConfig json_rope(ConfigView& view, const JsonFields& parameters, const ModelConfig& config, double theta,
                     const JsonDefaults& defaults) {
  RopeConfig rope{.theta = parameters.number("rope_theta").value_or(theta), .dim = config.head_dim, .scaling = {}};
  auto partial = parameters.number("partial_rotary_factor");
  if (!partial) partial = defaults.partial;
  if (partial && !(*partial > 0.0 && *partial <= 1.0)) {
    view.bad_value(kPartial, fmt::format("expected a number above 0 and up to 1, found {}", *partial));
  }
  if (partial) rope.dim = static_cast<std::int64_t>(static_cast<double>(config.head_dim) * *partial);
  if (defaults.dim) rope.dim = *defaults.dim;
  rope.scaling = json_scaling(parameters, config, defaults.original);
  return rope;
}

void read_json_rope(ConfigView& view, ModelConfig& config) {
  const double theta = view.number(kTheta).value_or(config.rope.theta);
  const auto sliding_theta = view.number(kSlidingTheta);
  const JsonDefaults defaults{view.number(kPartial), view.integer(kDimensions, checkpoint::kCounts),
                              view.integer(kOriginalContext, checkpoint::kCounts)};
  static const nlohmann::json kNothing = nlohmann::json::object();
  const auto parameters = view.object(kParameters).value_or(JsonFields(view.file(), kNothing));
  const auto full = parameters.object("full_attention"), sliding = parameters.object("sliding_attention");
  config.rope = json_rope(view, full ? *full : parameters, config, theta, defaults);
  if (sliding) {
    config.sliding_rope = json_rope(view, *sliding, config, sliding_theta.value_or(theta), defaults);
  } else if (sliding_theta) {
    config.sliding_rope = RopeConfig{.theta = *sliding_theta, .dim = config.rope.dim, .scaling = {}};
  }
}

// What the file says of YaRN's magnitude: a factor of the usual one, all of it, or DeepSeek's mscale_all_dim, where
// mscale is 1.
void read_gguf_magnitude(ConfigView& view, RopeScaling& scaling) {
  const auto factor = view.number(kMagnitude), whole = view.number(kYarnMagnitude);
  const auto multiplier = view.number(kYarnMultiplier);
  if (scaling.kind != RopeScaling::Kind::kYarn) {
    scaling.attention_factor = factor;
    return;
  }
  if (multiplier.value_or(0.0) != 0.0) {
    scaling.mscale = 1.0;
    scaling.mscale_all_dim = multiplier;
  }
  if (factor) {
    scaling.attention_factor = *factor * (scaling.factor > 1.0 ? 0.1 * std::log(scaling.factor) + 1.0 : 1.0);
  }
  if (whole) scaling.attention_factor = whole;
}

RopeScaling gguf_scaling(ConfigView& view) {
  using Kind = RopeScaling::Kind;
  RopeScaling scaling;
  const auto old_linear = view.number(kOldLinear);
  const std::string type = view.text(kType).value_or(old_linear ? "linear" : "none");
  if (type != "none" && type != "linear" && type != "yarn" && type != "longrope") {
    view.unsupported(kType, "rope scaling " + quote_name(type) + " is not supported");
  }
  scaling.kind = type == "none"     ? Kind::kNone
                 : type == "linear" ? Kind::kLinear
                 : type == "yarn"   ? Kind::kYarn
                                    : Kind::kLongRope;
  const auto factor = view.number(kFactor);
  scaling.factor = old_linear ? *old_linear : factor.value_or(1.0);
  scaling.original_context = view.integer(kOriginal).value_or(0);
  scaling.beta_fast = view.number(kBetaFast).value_or(scaling.beta_fast);
  scaling.beta_slow = view.number(kBetaSlow).value_or(scaling.beta_slow);
  read_gguf_magnitude(view, scaling);
  return scaling;
}

}  // namespace

void read_rope(ConfigView& view, ModelConfig& config) {
  if (!view.gguf()) return read_json_rope(view, config);
  config.rope.dim = view.integer(kDimensions).value_or(config.head_dim);
  config.rope.theta = view.number(kTheta).value_or(config.rope.theta);
  config.rope.scaling = gguf_scaling(view);
  const auto sliding_theta = view.number(kSlidingTheta);
  const auto sliding_dim = view.integer(kSlidingDimensions);
  if (sliding_theta || sliding_dim) {
    config.sliding_rope = RopeConfig{.theta = sliding_theta.value_or(config.rope.theta),
                                     .dim = sliding_dim.value_or(config.rope.dim),
                                     .scaling = {}};
  }
}

std::span<const ConfigField> rope_fields() {
  static constexpr ConfigField kFields[] = {
      kTheta,         kSlidingTheta,  kParameters, kPartial,  kOriginalContext, kDimensions, kSlidingDimensions,
      kOldLinear,     kType,          kFactor,     kOriginal, kBetaFast,        kBetaSlow,   kMagnitude,
      kYarnMagnitude, kYarnMultiplier};
  return kFields;
}

}  // namespace millrace::model
