#include "model/blocks/linear.h"

#include "model/block_loader.h"

namespace millrace::model::blocks {
namespace {

const LinearParams& linear_params_of(const BlockSpec& block) { return block.as<LinearParams>(); }

BlockWeight linear_weight(const LinearParams& l, const ModelSpec& spec) {
  return {
      .role = l.role, .name = l.weight_name, .rows = spec.hidden_size, .cols = spec.hidden_size, .to_residual = true};
}

class LinearBlock final : public Block {
 public:
  LinearBlock(const LinearParams& params, BlockLoader& loader)
      : norm_(loader.norm(params.norm_name, params.norm, loader.spec().hidden_size)),
        product_(loader.product(linear_weight(params, loader.spec()))) {}

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages&) const override {
    backend.linear(*product_.weight,
                   {.norm = norm_.view(), .bias = product_.bias.address(), .accumulate = rows.accumulate},
                   rows.residual, rows.output);
  }
  std::vector<backend::Linear*> linears() const override { return {product_.weight.get()}; }

 private:
  NormWeights norm_;
  Product product_;
};

BlockWork linear_work(const BlockSpec&, const ModelSpec& spec) {
  return {.operations = 2.0 * static_cast<double>(spec.hidden_size) * static_cast<double>(spec.hidden_size)};
}

std::vector<BlockWeight> linear_weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor&) {
  const LinearParams& l = linear_params_of(block);
  std::vector<BlockWeight> all;
  if (!l.norm_name.empty() && l.norm.weight) {
    all.push_back(norm_weight(l.role + "_norm", l.norm_name, spec.hidden_size, l.norm));
  }
  all.push_back(linear_weight(l, spec));
  return all;
}

}  // namespace

BlockKind linear() {
  return {.name = LinearParams::kKind,
          .check = [](const BlockSpec&, const ModelSpec&, const backend::Limits&) { return Result<void>(); },
          .key = [](const BlockSpec& block) { return key_of(linear_params_of(block).norm); },
          .kv = [](const BlockSpec&) { return std::optional<kv::KvNeed>(); },
          .workspace = [](const BlockSpec&) { return BlockWorkspace(); },
          .work = linear_work,
          .weights = linear_weights,
          .load = [](const BlockSpec& block, BlockLoader& loader) -> std::unique_ptr<Block> {
            return std::make_unique<LinearBlock>(linear_params_of(block), loader);
          }};
}

}  // namespace millrace::model::blocks
