#include "engine/local_executor.h"

#include <limits>

#include "backend/cpu/kv_layout.h"
#include "base/thread_name.h"

namespace millrace::engine {

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::create(model::Transformer& model, backend::Backend& backend,
                                                             const backend::KvPageForm& kv_pages,
                                                             std::int64_t kv_cache_tokens) {
  const kv::KvGroups groups = model.kv_groups(kv_pages);
  const backend::cpu::KvLayout& layout = backend::cpu::layout_of({.layout = groups.layout});
  if (!layout.fits(groups.block_tokens)) {
    return make_error(ErrorCode::kInvalidArgument, "block-size",
                      "block-size is {}: pages of kv-layout {} have {} tokens", groups.block_tokens, layout.name,
                      layout.block_sizes);
  }
  const std::int64_t tokens = kv_cache_tokens > 0 ? kv_cache_tokens : model.max_length();
  const std::int64_t pages = (tokens + groups.block_tokens - 1) / groups.block_tokens;
  if (pages > std::numeric_limits<std::int32_t>::max()) {
    return make_error(ErrorCode::kInvalidArgument, "kv-cache-tokens", "kv-cache-tokens is {}: too many", tokens);
  }
  auto store = kv::KvStore::create(backend, groups, static_cast<std::int32_t>(pages));
  if (!store) return store.error();
  return std::unique_ptr<LocalExecutor>(
      new LocalExecutor(model, backend, std::move(*store), static_cast<std::int32_t>(pages)));
}

Result<TensorView> LocalExecutor::wait() try {
  return model_.forward(launched_, store_);
} catch (const LoadError& failure) {
  backend_.synchronize();  // of what was recorded nothing stays behind for the next step
  return failure.error();
}

void LocalExecutor::populate() {
  populating_ = std::jthread([this](const std::stop_token& stop) {
    name_thread("populate");
    store_.populate(stop);
  });
}

void LocalExecutor::wait_populated() {
  if (populating_.joinable()) populating_.join();
}

}  // namespace millrace::engine
