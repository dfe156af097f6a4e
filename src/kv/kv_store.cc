#include "kv/kv_store.h"

#include "base/checked.h"

namespace millrace::kv {

Result<KvStore> KvStore::create(backend::Backend& backend, std::int64_t n_layers, const backend::KvGeometry& geometry,
                                std::int32_t n_pages) {
  const auto layer = checked_mul(geometry.page_bytes(), static_cast<std::size_t>(n_pages));
  const auto total = layer ? checked_mul(*layer, static_cast<std::size_t>(n_layers)) : std::nullopt;
  if (!total) {
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens", "a KV cache of {} pages overflows", n_pages);
  }
  auto memory = backend.allocate(*total);
  if (!memory) return memory.error();
  KvStore store;
  store.geometry_ = geometry;
  store.layer_bytes_ = *layer;
  store.memory_ = std::move(*memory);
  return store;
}

}  // namespace millrace::kv
