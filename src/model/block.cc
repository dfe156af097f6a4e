#include "model/block.h"

#include <algorithm>

namespace millrace::model {

std::vector<backend::Linear*> Block::linears() const {
  std::vector<backend::Linear*> all;
  for (const Product* product : products()) all.push_back(product->weight.get());
  return all;
}

double Block::weight_bytes(double) const noexcept {
  std::size_t bytes = 0;
  for (const backend::Linear* linear : linears()) bytes += linear->packed_bytes();
  return static_cast<double>(bytes);
}

const BlockKind& kind_of(const BlockSpec& block) {
  const auto kinds = all_block_kinds();
  const auto found = std::ranges::find(kinds, block.kind(), &BlockKind::name);
  CHECK(found != kinds.end());
  return *found;
}

BiasRule bias_rule(const ModelSpec& spec) noexcept { return spec.biases ? BiasRule::kRequired : BiasRule::kIfPresent; }

BlockWeight norm_weight(std::string role, const std::string& name, std::int64_t rows, const NormSpec& norm) {
  return {.role = std::move(role),
          .name = name,
          .rows = rows,
          .offset = norm.offset,
          .bias = norm.bias ? BiasRule::kRequired : BiasRule::kNone};
}

std::int64_t tensor_row(const BlockWeight& weight, std::int64_t i) noexcept {
  if (weight.rotated_head > 0) {
    const std::int64_t head = i / weight.rotated_head, in_head = i % weight.rotated_head, half = weight.rotated / 2;
    if (in_head < weight.rotated) i = head * weight.rotated_head + 2 * (in_head % half) + in_head / half;
  }
  return weight.slice.row(weight.row_turns.place(i, weight.rows));
}

std::vector<BlockWeight> block_weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has) {
  std::vector<BlockWeight> all = kind_of(block).weights(block, spec, has);
  for (BlockWeight& weight : all) {
    if (weight.cols > 0 && weight.experts == 0 && weight.bias == BiasRule::kNone) weight.bias = bias_rule(spec);
  }
  const BlockOutput& output = block.output;
  const auto add = [&](const std::string& name, const NormSpec& norm) {
    if (!name.empty() && norm.weight) all.push_back(norm_weight("post_norm", name, spec.hidden_size, norm));
  };
  add(output.norm_name, output.norm);
  add(output.sum_norm_name, output.sum_norm);
  return all;
}

std::vector<BlockWeight> outer_weights(const ModelSpec& spec) {
  const WeightNames& names = spec.names;
  const std::int64_t width = spec.embedding_width(), hidden = spec.hidden_size;
  std::vector<BlockWeight> all = {{.role = "token_embd",
                                   .name = names.embedding,
                                   .rows = spec.vocab_size,
                                   .cols = width,
                                   .axis = RowAxis::kVocabulary}};
  if (spec.positions == PositionKind::kLearned) {
    const std::int64_t rows = spec.context_length + spec.position_offset;
    all.push_back({.role = "position_embd", .name = names.positions, .rows = rows, .cols = hidden});
  }
  const auto vector = [&](std::string_view role, const std::string& name, const NormSpec& norm) {
    if (!name.empty() && norm.weight) all.push_back(norm_weight(std::string(role), name, hidden, norm));
  };
  vector("token_embd_norm", names.embedding_norm, spec.embedding_norm);
  if (!names.project_in.empty()) {
    all.push_back({.role = "project_in", .name = names.project_in, .rows = hidden, .cols = width});
    all.push_back({.role = "project_out", .name = names.project_out, .rows = width, .cols = hidden});
  }
  vector("output_norm", names.final_norm, spec.final_norm);
  if (!spec.tied_head) {
    all.push_back({.role = "output",
                   .name = names.head,
                   .rows = spec.vocab_size,
                   .cols = width,
                   .axis = RowAxis::kVocabulary,
                   .unit_rows = spec.unit_head,
                   .bias = BiasRule::kIfPresent});
  }
  return all;
}

std::string block_key(const BlockSpec& block) {
  const BlockOutput& o = block.output;
  std::string text(block.kind());
  text += " " + kind_of(block).key(block);
  if (o.replaces) return text + " replaces";
  if (o.plain()) return text;
  text += fmt::format(" output {} {} {}", o.has_norm() ? key_of(o.norm) : "", o.scale, o.has_sum_norm());
  return o.has_sum_norm() ? text + " " + key_of(o.sum_norm) : text;
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
