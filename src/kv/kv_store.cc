#include "kv/kv_store.h"

#include <algorithm>

#include "base/checked.h"

namespace millrace::kv {

Result<KvStore> KvStore::create(backend::Backend& backend, std::int64_t n_layers, const backend::KvFormat& format,
                                std::int32_t n_pages) {
  if (auto checked = backend.check_kv_format(format); !checked) return checked.error();
  const std::size_t page = backend.kv_page_bytes(format);
  const auto layer = checked_mul(page, static_cast<std::size_t>(n_pages));
  const auto total = layer ? checked_mul(*layer, static_cast<std::size_t>(n_layers)) : std::nullopt;
  if (!total) {
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens", "a KV cache of {} pages overflows", n_pages);
  }
  auto memory = backend.allocate(*total);
  if (!memory) return memory.error();
  KvStore store;
  store.backend_ = &backend;
  store.format_ = format;
  store.layer_page_bytes_ = page;
  store.layer_bytes_ = *layer;
  store.n_layers_ = static_cast<std::size_t>(n_layers);
  store.memory_ = std::move(*memory);
  return store;
}

void KvStore::populate(const std::stop_token& stop) const noexcept {
  constexpr std::size_t kPiece = std::size_t{2} << 20;  // of a layer: a huge page
  for (std::size_t at = 0; at < layer_bytes_; at += kPiece) {
    for (std::size_t l = 0; l < n_layers_ && !stop.stop_requested(); ++l) {
      memory_.populate(l * layer_bytes_ + at, std::min(kPiece, layer_bytes_ - at));
    }
  }
}

void KvStore::copy(BlockId from, BlockId to) {
  for (std::size_t l = 0; l < n_layers_; ++l) backend_->copy(page_of(l, from), page_of(l, to), layer_page_bytes_);
}

void KvStore::read(BlockId page, std::span<std::byte> out) const {
  for (std::size_t l = 0; l < n_layers_; ++l) {
    backend_->download(page_of(l, page), out.subspan(l * layer_page_bytes_, layer_page_bytes_));
  }
}

void KvStore::write(BlockId page, std::span<const std::byte> in) {
  for (std::size_t l = 0; l < n_layers_; ++l) {
    backend_->upload(in.subspan(l * layer_page_bytes_, layer_page_bytes_), page_of(l, page));
  }
}

}  // namespace millrace::kv
