#include "model/computation_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/checksum.h"
#include "model/block.h"

namespace millrace::model {
namespace {

std::string key_of(const RopeConfig& rope) {
  const RopeScaling& r = rope.scaling;
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}{}", rope.theta, rope.dim, static_cast<int>(r.kind), r.factor,
      r.alpha, r.original_context, r.low_freq_factor, r.high_freq_factor, r.beta_fast, r.beta_slow,
      r.attention_factor.value_or(0.0), r.mscale.value_or(0.0), r.mscale_all_dim.value_or(0.0), r.truncate,
      fmt::join(r.short_factors, ","), fmt::join(r.long_factors, ","), rope.reversed ? " reversed" : "");
  if (r.short_magnitude || r.long_magnitude) {
    text += fmt::format(" {} {}", r.short_magnitude.value_or(0.0), r.long_magnitude.value_or(0.0));
  }
  return text;
}

}  // namespace

std::uint64_t computation_key(const ModelSpec& spec) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {} {}", spec.family, spec.vocab_size, spec.hidden_size,
                                 spec.embedding_size, spec.context_length, static_cast<int>(spec.positions),
                                 spec.position_offset, spec.transposed_linears, spec.tied_head, spec.embedding_scale);
  if (spec.unit_head) text += " unit head";
  text += fmt::format("|{} {}|{}|{} {}", key_of(spec.embedding_norm), spec.names.embedding_norm.empty(),
                      key_of(spec.final_norm), spec.logit_scale, spec.logit_softcap);
  if (spec.query_scale) {
    text += fmt::format("|{} {} {}", spec.query_scale->factor, spec.query_scale->period, spec.query_scale->offset);
  }
  for (const RopeConfig& rope : spec.ropes) text += "|" + key_of(rope);
  for (const LayerSpec& layer : spec.layers) {
    text += fmt::format("|{}", static_cast<int>(layer.residual));
    if (!layer.has_weights()) text += fmt::format(" as {}", layer.weights_of);
    for (const BlockSpec& block : layer.blocks) text += " " + block_key(block);
  }
  return checksum(text);
}

}  // namespace millrace::model
