#include "model/blocks/shortcut.h"

#include "model/block_loader.h"

namespace millrace::model::blocks {
namespace {

BlockWeight matrix(const BlockSpec& block, const ModelSpec& spec) {
  return {.role = "shortcut",
          .name = block.as<ShortcutParams>().name,
          .rows = spec.hidden_size,
          .cols = spec.hidden_size,
          .axis = RowAxis::kResidual};
}

class Shortcut final : public Block {
 public:
  explicit Shortcut(Product product) : product_(std::move(product)), width_(product_.weight->n()) {}

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages&) const override {
    if (!rows.accumulate) return backend.linear(*product_.weight, {}, rows.residual, rows.output);
    RowSpace space = rows.space;
    const backend::DeviceView made = space.take(width_);
    backend.linear(*product_.weight, {}, rows.residual, made);
    backend.add({}, made, rows.output);
  }
  std::vector<const Product*> products() const override { return {&product_}; }

 private:
  Product product_;
  std::int64_t width_;
};

}  // namespace

BlockKind shortcut() {
  return {.name = ShortcutParams::kKind,
          .check = [](const BlockSpec&, const ModelSpec&, const backend::Limits&) { return Result<void>(); },
          .key = [](const BlockSpec&) { return std::string("shortcut"); },
          .kv = [](const BlockSpec&) { return std::optional<kv::KvNeed>(); },
          .workspace = [](const BlockSpec& block,
                          const ModelSpec&) { return BlockWorkspace{.columns = {block.as<ShortcutParams>().width}}; },
          .work =
              [](const BlockSpec&, const ModelSpec& spec) {
                const auto width = static_cast<double>(spec.hidden_size);
                return BlockWork{.operations = 2.0 * width * width};
              },
          .weights = [](const BlockSpec& block, const ModelSpec& spec,
                        const HasTensor&) { return std::vector<BlockWeight>{matrix(block, spec)}; },
          .load = [](const BlockSpec& block, BlockLoader& loader) -> std::unique_ptr<Block> {
            return std::make_unique<Shortcut>(loader.product(matrix(block, loader.spec())));
          }};
}

}  // namespace millrace::model::blocks
