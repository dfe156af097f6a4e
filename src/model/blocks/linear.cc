#include "model/blocks/linear.h"

#include "model/block_loader.h"

namespace millrace::model::blocks {
namespace {

const LinearParams& linear_params_of(const BlockSpec& block) { return block.as<LinearParams>(); }

BlockWeight linear_weight(const LinearParams& l) {
  return {.role = l.role, .name = l.weight_name, .rows = l.size, .cols = l.size, .axis = RowAxis::kResidual};
}

class LinearBlock final : public Block {
 public:
  LinearBlock(const LinearParams& params, BlockLoader& loader)
      : norm_(loader.norm(params.norm_name, params.norm, params.size)),
        product_(loader.product(linear_weight(params))),
        columns_(loader.columns(linear_weight(params))),
        activation_(params.activation) {}

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages&) const override {
    RowSpace space = rows.space;
    const backend::DeviceView product = activation_ ? space.take(rows.output.cols()) : rows.output;
    backend.linear(*product_.weight,
                   {.norm = norm_.view(),
                    .bias = product_.bias.address(),
                    .accumulate = rows.accumulate,
                    .adapters = rows.adapters_of(product_)},
                   rows.residual, columns_.own(product));
    columns_.exchange(backend, product);
    if (activation_) backend.activate({.activation = *activation_, .gated = false}, product, rows.output);
  }
  std::vector<const Product*> products() const override { return {&product_}; }

 private:
  NormWeights norm_;
  Product product_;
  RankColumns columns_;
  std::optional<backend::Activation> activation_;
};

Result<void> check_linear(const BlockSpec& block, const ModelSpec& spec, const backend::Limits&) {
  const LinearParams& l = linear_params_of(block);
  CHECK(l.size == spec.hidden_size);
  // Only a product can be added to the residual, and only what is behind one may take its place.
  CHECK(l.activation.has_value() == block.output.replaces);
  return {};
}

std::string linear_key(const BlockSpec& block) {
  const LinearParams& l = linear_params_of(block);
  std::string text = fmt::format("{} {}", key_of(l.norm), l.norm_name.empty());
  if (l.activation) text += fmt::format(" {}", static_cast<int>(*l.activation));
  return text;
}

BlockWorkspace linear_workspace(const BlockSpec& block, const ModelSpec&) {
  const LinearParams& l = linear_params_of(block);
  return {.columns = l.activation ? std::vector<std::int64_t>{l.size} : std::vector<std::int64_t>(), .ffn = 0};
}

BlockWork linear_work(const BlockSpec& block, const ModelSpec&) {
  const std::int64_t size = linear_params_of(block).size;
  return {.operations = 2.0 * static_cast<double>(size * size), .exchanges = {size}};
}

std::vector<BlockWeight> linear_weights(const BlockSpec& block, const ModelSpec&, const HasTensor&) {
  const LinearParams& l = linear_params_of(block);
  std::vector<BlockWeight> all;
  if (!l.norm_name.empty() && l.norm.weight) {
    all.push_back(norm_weight(l.role + "_norm", l.norm_name, l.size, l.norm));
  }
  all.push_back(linear_weight(l));
  return all;
}

}  // namespace

BlockKind linear() {
  return {.name = LinearParams::kKind,
          .check = check_linear,
          .key = linear_key,
          .kv = [](const BlockSpec&) { return std::optional<kv::KvNeed>(); },
          .workspace = linear_workspace,
          .work = linear_work,
          .weights = linear_weights,
          .load = [](const BlockSpec& block, BlockLoader& loader) -> std::unique_ptr<Block> {
            return std::make_unique<LinearBlock>(linear_params_of(block), loader);
          }};
}

}  // namespace millrace::model::blocks
