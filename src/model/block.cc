#include "model/block.h"

#include <algorithm>

namespace millrace::model {

std::size_t Block::weight_bytes_per_token() const noexcept {
  std::size_t bytes = 0;
  for (const backend::Linear* linear : linears()) bytes += linear->packed_bytes();
  return bytes;
}

const BlockKind& kind_of(const BlockSpec& block) {
  const auto kinds = all_block_kinds();
  const auto found = std::ranges::find(kinds, block.kind(), &BlockKind::name);
  CHECK(found != kinds.end());
  return *found;
}

std::vector<kv::KvNeed> kv_needs(const ModelSpec& spec) {
  std::vector<kv::KvNeed> needs;
  for (const LayerSpec& layer : spec.layers) {
    for (const BlockSpec& block : layer.blocks) {
      if (const auto need = kind_of(block).kv(block)) needs.push_back(*need);
    }
  }
  return needs;
}

Result<void> check_dimensions(const ModelSpec& spec, const backend::Limits& limits) {
  if (spec.hidden_size % 2 != 0) return unsupported_dimension("hidden_size", spec.hidden_size, "even");
  for (const LayerSpec& layer : spec.layers) {
    for (const BlockSpec& block : layer.blocks) {
      if (auto checked = kind_of(block).check(block, spec, limits); !checked) return checked;
    }
  }
  return {};
}

Error unsupported_dimension(std::string field, std::int64_t value, std::string_view rule) {
  return make_error(ErrorCode::kUnsupported, field, "{} is {}: must be {}", field, value, rule);
}

}  // namespace millrace::model
