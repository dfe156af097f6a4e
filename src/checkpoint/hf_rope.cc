#include "checkpoint/hf_rope.h"

#include <cmath>

#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

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

RopeScaling read_scaling(const JsonFields& fields) {
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

}  // namespace

void read_hf_rope(const JsonFields& fields, ModelConfig& config) {
  auto parameters = fields.object("rope_parameters");
  if (!parameters) parameters = fields.object("rope_scaling");
  if (const auto theta = fields.number("rope_theta")) config.rope_theta = *theta;
  auto partial = fields.number("partial_rotary_factor");
  if (parameters) {
    if (parameters->find("full_attention") != nullptr || parameters->find("sliding_attention") != nullptr) {
      parameters->unsupported("full_attention", "rope parameters by layer type are not supported");
    }
    if (const auto theta = parameters->number("rope_theta")) config.rope_theta = *theta;
    if (const auto inner = parameters->number("partial_rotary_factor")) partial = inner;
    config.rope_scaling = read_scaling(*parameters);
  }
  if (partial && !(*partial > 0.0 && *partial <= 1.0))
    fields.wrong_type("partial_rotary_factor", "a number above 0 and up to 1");
  config.rope_dim =
      partial ? static_cast<std::int64_t>(static_cast<double>(config.head_dim) * *partial) : config.head_dim;
}

}  // namespace millrace::checkpoint
