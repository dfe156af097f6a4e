#include "model/computation_key.h"

#include <fmt/format.h>

#include "base/checksum.h"
#include "model/block.h"

namespace millrace::model {

std::uint64_t computation_key(const ModelSpec& spec) {
  const RopeScaling& r = spec.rope_scaling;
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", spec.family, spec.vocab_size, spec.hidden_size,
                  spec.context_length, static_cast<int>(spec.norm), spec.norm_eps, static_cast<int>(spec.positions),
                  spec.rope_theta, spec.rope_dim, spec.rope_interleaved, spec.transposed_linears, spec.tied_head);
  text += fmt::format("|{} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(r.kind), r.factor, r.original_context,
                      r.low_freq_factor, r.high_freq_factor, r.beta_fast, r.beta_slow, r.attention_factor.value_or(0.0),
                      r.mscale.value_or(0.0), r.mscale_all_dim.value_or(0.0), r.truncate);
  for (const LayerSpec& layer : spec.layers) {
    char separator = '|';
    for (const BlockSpec& block : layer.blocks) {
      text += separator + kind_of(block).key(block);
      separator = ' ';
    }
  }
  return checksum(text);
}

}  // namespace millrace::model
