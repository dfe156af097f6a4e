#include "model/ranks/transformer_part.h"

#include <limits>
#include <utility>

#include "kv/kv_store.h"

namespace millrace::model {
namespace {

class TransformerPages final : public RankPages {
 public:
  TransformerPages(Transformer& model, RankStore command) : model_(model), command_(std::move(command)) {}

  Result<void> make(backend::Backend& backend) {
    backend::KvFormat format{
        .encoding = command_.encoding, .block_tokens = command_.block_tokens, .layout = command_.layout};
    auto exceptions = std::make_shared<std::vector<backend::KvException>>();
    for (const RankStore::Exception& of : command_.exceptions) {
      exceptions->push_back({of.first, of.last, of.encoding});
    }
    if (!exceptions->empty()) format.exceptions = std::move(exceptions);
    const kv::KvGroups groups = model_.kv_groups(format);
    window_ = groups.window();
    auto store = kv::KvStore::create(backend, groups, command_.pages, command_.window_pages);
    if (!store) return store.error();
    store_ = std::make_unique<kv::KvStore>(*std::move(store));
    return {};
  }

  kv::PageDevice& device() noexcept override { return *store_; }
  StepLimits limits() const noexcept override {
    const ModelSpec& spec = model_.spec();
    const kv::KvStore* windowed = std::as_const(*store_).windowed();
    return {.vocabulary = spec.vocab_size,
            .positions =
                spec.positions == PositionKind::kNone ? std::numeric_limits<std::int32_t>::max() : spec.context_length,
            .layers = std::ssize(spec.layers),
            .block_tokens = store_->block_tokens(),
            .pages = store_->pages(),
            .window_pages = windowed == nullptr ? 0 : windowed->pages(),
            .window = window_};
  }
  void compute(const BatchInput& input) override { model_.forward(input, *store_); }

 private:
  Transformer& model_;
  RankStore command_;  // the store's format refers to its names
  std::unique_ptr<kv::KvStore> store_;
  std::int64_t window_ = 0;  // the largest of its layers; 0: none has one
};

}  // namespace

Result<std::unique_ptr<RankPages>> TransformerPart::make_pages(const RankStore& store) {
  auto pages = std::make_unique<TransformerPages>(model_, store);
  if (auto made = pages->make(backend_); !made) return made.error();
  return std::unique_ptr<RankPages>(std::move(pages));
}

}  // namespace millrace::model
