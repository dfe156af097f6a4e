#include "model/blocks/mlp.h"

#include "model/block_loader.h"

namespace millrace::model {

MlpNames gguf_mlp_names() {
  return {.norm = "blk.{}.ffn_norm", .gate = "blk.{}.ffn_gate", .up = "blk.{}.ffn_up", .down = "blk.{}.ffn_down"};
}

MlpNames llama_mlp_names(const std::string& layer) {
  return {.norm = layer + "post_attention_layernorm",
          .gate = layer + "mlp.gate_proj",
          .up = layer + "mlp.up_proj",
          .down = layer + "mlp.down_proj"};
}

namespace blocks {
namespace {

const MlpParams& params_of(const BlockSpec& block) { return block.as<MlpParams>(); }

std::vector<BlockWeight> up_weights(const MlpParams& m, const ModelSpec& spec) {
  std::vector<BlockWeight> all;
  if (m.gated) all.push_back({.role = "ffn_gate", .name = m.names.gate, .rows = m.width, .cols = spec.hidden_size});
  all.push_back({.role = "ffn_up", .name = m.names.up, .rows = m.width, .cols = spec.hidden_size});
  return all;
}

BlockWeight down_weight(const MlpParams& m, const ModelSpec& spec) {
  return {.role = "ffn_down", .name = m.names.down, .rows = spec.hidden_size, .cols = m.width, .to_residual = true};
}

class Mlp final : public Block {
 public:
  Mlp(const MlpParams& params, BlockLoader& loader)
      : params_(params),
        kind_(loader.spec().norm),
        eps_(loader.spec().norm_eps),
        norm_(loader.norm(params.names.norm)),
        products_(loader.chain(up_weights(params, loader.spec()), down_weight(params, loader.spec()))) {}

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages&) const override {
    backend.mlp({.norm = norm_.view(kind_, eps_),
                 .up = products_.up.weight.get(),
                 .up_bias = products_.up.bias.address(),
                 .gated = params_.gated,
                 .activation = params_.activation,
                 .down = products_.down.weight.get(),
                 .down_bias = products_.down.bias.address()},
                rows.residual);
  }

  std::vector<backend::Linear*> linears() const override {
    return {products_.up.weight.get(), products_.down.weight.get()};
  }

 private:
  MlpParams params_;
  backend::NormKind kind_;
  float eps_;
  NormWeights norm_;
  BlockLoader::Chain products_;  // up: gate and up stacked when gated
};

Result<void> check(const BlockSpec& block, const ModelSpec&, const backend::Limits&) {
  const std::int64_t width = params_of(block).width;
  if (width % 2 != 0) return unsupported_dimension("intermediate_size", width, "even");
  return {};
}

std::string key(const BlockSpec& block) {
  const MlpParams& m = params_of(block);
  return fmt::format("{} {} {}", m.width, m.gated, static_cast<int>(m.activation));
}

BlockWork work(const BlockSpec& block, const ModelSpec& spec) {
  const MlpParams& m = params_of(block);
  return {.operations =
              2.0 * static_cast<double>(spec.hidden_size) * (m.gated ? 3.0 : 2.0) * static_cast<double>(m.width)};
}

std::vector<BlockWeight> weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor&) {
  const MlpParams& m = params_of(block);
  std::vector<BlockWeight> all;
  if (!m.names.norm.empty()) all.push_back({.role = "ffn_norm", .name = m.names.norm, .rows = spec.hidden_size});
  for (BlockWeight& weight : up_weights(m, spec)) all.push_back(std::move(weight));
  all.push_back(down_weight(m, spec));
  return all;
}

}  // namespace

BlockKind mlp() {
  return {
      .name = MlpParams::kKind,
      .check = check,
      .key = key,
      .kv = [](const BlockSpec&) { return std::optional<kv::KvNeed>(); },
      .workspace = [](const BlockSpec& block) { return BlockWorkspace{.columns = {}, .ffn = params_of(block).width}; },
      .work = work,
      .weights = weights,
      .load = [](const BlockSpec& block, BlockLoader& loader) -> std::unique_ptr<Block> {
        return std::make_unique<Mlp>(params_of(block), loader);
      }};
}

}  // namespace blocks
}  // namespace millrace::model
