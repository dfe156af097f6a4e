#include "kv/kv_store.h"

#include <algorithm>

#include "base/checked.h"

namespace millrace::kv {

Result<KvStore> KvStore::create(backend::Backend& backend, const KvGroups& groups, std::int32_t n_pages) {
  for (const KvGroup& group : groups.groups) {
    if (auto checked = backend.check_kv_format(groups.format(group)); !checked) return checked.error();
  }
  KvStore store;
  store.backend_ = &backend;
  store.page_bytes_ = groups.page_bytes(backend);
  store.n_pages_ = static_cast<std::size_t>(n_pages);
  store.block_tokens_ = groups.block_tokens;
  const auto total = checked_mul(store.page_bytes_, store.n_pages_);
  if (!total) {
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens", "a KV cache of {} pages overflows", n_pages);
  }
  store.layers_.resize(static_cast<std::size_t>(groups.layers()));
  for (const KvGroup& group : groups.groups) {
    const backend::KvFormat format = groups.format(group);
    for (const std::int64_t layer : group.layers) {
      store.layers_[static_cast<std::size_t>(layer)] = {.page_bytes = backend.kv_page_bytes(format), .format = format};
    }
  }
  std::size_t offset = 0;
  for (Layer& layer : store.layers_) {
    layer.offset = offset;
    offset += layer.page_bytes * store.n_pages_;
  }
  auto memory = backend.allocate(*total);
  if (!memory) return memory.error();
  store.memory_ = std::move(*memory);
  return store;
}

void KvStore::populate(const std::stop_token& stop) const noexcept {
  constexpr std::size_t kPiece = std::size_t{2} << 20;  // of a layer: a huge page
  std::size_t largest = 0;
  for (const Layer& layer : layers_) largest = std::max(largest, layer.page_bytes * n_pages_);
  for (std::size_t at = 0; at < largest; at += kPiece) {
    for (const Layer& layer : layers_) {
      const std::size_t bytes = layer.page_bytes * n_pages_;
      if (stop.stop_requested()) return;
      if (at < bytes) memory_.populate(layer.offset + at, std::min(kPiece, bytes - at));
    }
  }
}

void KvStore::copy(BlockId from, BlockId to) {
  for (const Layer& layer : layers_) backend_->copy(page_of(layer, from), page_of(layer, to), layer.page_bytes);
}

void KvStore::read(BlockId page, std::span<std::byte> out) const {
  std::size_t at = 0;
  for (const Layer& layer : layers_) {
    backend_->download(page_of(layer, page), out.subspan(at, layer.page_bytes));
    at += layer.page_bytes;
  }
}

void KvStore::write(BlockId page, std::span<const std::byte> in) {
  std::size_t at = 0;
  for (const Layer& layer : layers_) {
    backend_->upload(in.subspan(at, layer.page_bytes), page_of(layer, page));
    at += layer.page_bytes;
  }
}

}  // namespace millrace::kv
