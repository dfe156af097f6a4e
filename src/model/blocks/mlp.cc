#include "model/blocks/mlp.h"

#include <cmath>

#include "model/block_loader.h"
#include "model/feed_forward.h"

namespace millrace::model {

MlpNames gguf_mlp_names() {
  return {.norm = "blk.{}.ffn_norm",
          .gate = "blk.{}.ffn_gate",
          .up = "blk.{}.ffn_up",
          .down = "blk.{}.ffn_down",
          .gate_up = "",
          .sub_norm = "",
          .xielu = ""};
}

MlpNames llama_mlp_names(const std::string& layer) {
  return {.norm = layer + "post_attention_layernorm",
          .gate = layer + "mlp.gate_proj",
          .up = layer + "mlp.up_proj",
          .down = layer + "mlp.down_proj",
          .gate_up = layer + "mlp.gate_up_proj",
          .sub_norm = "",
          .xielu = ""};
}

backend::ActivationParameters xielu_parameters(double alpha_p, double alpha_n, double beta, double eps) {
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  return {.alpha_p = static_cast<float>(softplus(alpha_p)),
          .alpha_n = static_cast<float>(beta + softplus(alpha_n)),
          .beta = static_cast<float>(beta),
          .eps = static_cast<float>(eps)};
}

namespace blocks {
namespace {

const MlpParams& params_of(const BlockSpec& block) { return block.as<MlpParams>(); }

// Products are of an even number of inputs: an odd width is completed by a channel of zeros.
std::int64_t zero_channels(const MlpParams& m) { return m.width % 2; }
std::int64_t computed_width(const MlpParams& m) { return m.width + zero_channels(m); }

std::vector<BlockWeight> up_weights(const MlpParams& m, const ModelSpec& spec, const HasTensor& has) {
  std::vector<BlockWeight> all;
  if (m.gated)
    all.push_back({.role = "ffn_gate",
                   .name = m.names.gate,
                   .rows = m.width,
                   .cols = spec.hidden_size,
                   .axis = RowAxis::kHidden});
  all.push_back(
      {.role = "ffn_up", .name = m.names.up, .rows = m.width, .cols = spec.hidden_size, .axis = RowAxis::kHidden});
  for (BlockWeight& weight : all) weight.zero_rows = zero_channels(m);
  if (!m.gated || m.names.gate_up.empty() || !has(m.names.gate_up)) return all;
  for (std::size_t part = 0; part < 2; ++part) {
    all[part].name = m.names.gate_up;
    all[part].slice = {static_cast<std::int64_t>(part) * m.width, m.width, m.width, 2 * m.width};
  }
  return all;
}

BlockWeight down_weight(const MlpParams& m, const ModelSpec& spec) {
  return {.role = "ffn_down",
          .name = m.names.down,
          .rows = spec.hidden_size,
          .cols = m.width,
          .zero_cols = zero_channels(m),
          .axis = RowAxis::kResidual};
}

backend::ActivationParameters read_xielu(const MlpParams& m, BlockLoader& loader) {
  const auto value = [&](const char* name) { return loader.values(m.names.xielu + name, 1).front(); };
  return xielu_parameters(value("alpha_p"), value("alpha_n"), value("beta"), value("eps"));
}

class Mlp final : public Block {
 public:
  Mlp(const MlpParams& params, BlockLoader& loader)
      : params_(params),
        norm_(loader.norm(params.names.norm, params.norm, loader.spec().hidden_size)),
        sub_norm_(loader.norm(params.names.sub_norm, params.sub_norm, params.width)) {
    const auto has = [&](const std::string& pattern) { return loader.has(pattern); };
    const std::vector<BlockWeight> up = up_weights(params, loader.spec(), has);
    const BlockWeight down = down_weight(params, loader.spec());
    products_ = loader.chain(up, down);
    columns_ = {.hidden = loader.columns(up.front()), .output = loader.columns(down)};
    if (!params.names.xielu.empty()) params_.parameters = read_xielu(params, loader);
  }

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages&) const override {
    const backend::Mlp mlp{.norm = norm_.view(),
                           .up = products_.up.weight.get(),
                           .up_bias = products_.up.bias.address(),
                           .gated = params_.gated,
                           .activation = params_.activation,
                           .parameters = params_.parameters,
                           .down = products_.down.weight.get(),
                           .down_bias = products_.down.bias.address(),
                           .accumulate = rows.accumulate,
                           .up_adapters = rows.adapters_of(products_.up),
                           .down_adapters = rows.adapters_of(products_.down)};
    std::optional<backend::Norm> sub_norm;
    if (!sub_norm_.empty()) sub_norm = sub_norm_.view();
    run_feed_forward(backend, mlp, sub_norm, columns_, rows.space, rows.residual, rows.output);
  }

  std::vector<const Product*> products() const override { return {&products_.up, &products_.down}; }

 private:
  MlpParams params_;
  NormWeights norm_, sub_norm_;
  BlockLoader::Chain products_;  // up: gate and up stacked when gated
  FeedForwardColumns columns_;
};

Result<void> check(const BlockSpec& block, const ModelSpec&, const backend::Limits&) {
  const std::int64_t width = params_of(block).width;
  if (width < 1) return unsupported_dimension("intermediate_size", width, "1 or more");
  if (width % 2 != 0 && !params_of(block).names.sub_norm.empty())
    return unsupported_dimension("intermediate_size", width, "even");
  return {};
}

std::string key(const BlockSpec& block) {
  const MlpParams& m = params_of(block);
  const backend::ActivationParameters& p = m.parameters;
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {}", m.width, m.gated, static_cast<int>(m.activation),
                                 key_of(m.norm), m.names.norm.empty(), p.alpha_p, p.alpha_n, p.beta, p.eps);
  if (!m.names.sub_norm.empty()) text += " sub " + key_of(m.sub_norm);
  return text;
}

BlockWork work(const BlockSpec& block, const ModelSpec& spec) {
  const MlpParams& m = params_of(block);
  return {
      .operations = 2.0 * static_cast<double>(spec.hidden_size) * (m.gated ? 3.0 : 2.0) * static_cast<double>(m.width),
      .exchanges = {computed_width(m), spec.hidden_size}};
}

BlockWorkspace workspace(const BlockSpec& block, const ModelSpec&) {
  const MlpParams& m = params_of(block);
  const std::int64_t width = computed_width(m);
  std::vector<std::int64_t> in_parts = {(m.gated ? 2 : 1) * width, width};
  if (m.names.sub_norm.empty()) return {.columns_of_ranks = std::move(in_parts), .ffn = width};
  return {.columns = std::move(in_parts), .ffn = width};
}

std::vector<BlockWeight> weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has) {
  const MlpParams& m = params_of(block);
  std::vector<BlockWeight> all;
  if (!m.names.norm.empty() && m.norm.weight)
    all.push_back(norm_weight("ffn_norm", m.names.norm, spec.hidden_size, m.norm));
  for (BlockWeight& weight : up_weights(m, spec, has)) all.push_back(std::move(weight));
  if (!m.names.sub_norm.empty() && m.sub_norm.weight)
    all.push_back(norm_weight("ffn_sub_norm", m.names.sub_norm, m.width, m.sub_norm));
  all.push_back(down_weight(m, spec));
  if (m.names.xielu.empty()) return all;
  for (const std::string number : {"alpha_p", "alpha_n", "beta", "eps"}) {
    all.push_back({.role = "xielu_" + number, .name = m.names.xielu + number, .rows = 1, .whole_name = true});
  }
  return all;
}

}  // namespace

BlockKind mlp() {
  return {.name = MlpParams::kKind,
          .check = check,
          .key = key,
          .kv = [](const BlockSpec&) { return std::optional<kv::KvNeed>(); },
          .workspace = workspace,
          .work = work,
          .weights = weights,
          .load = [](const BlockSpec& block, BlockLoader& loader) -> std::unique_ptr<Block> {
            return std::make_unique<Mlp>(params_of(block), loader);
          }};
}

}  // namespace blocks
}  // namespace millrace::model
