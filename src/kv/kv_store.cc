#include "kv/kv_store.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/checked.h"

namespace millrace::kv {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::int32_t kPartsAtOnce = 16;  // that other ranks are told of

}  // namespace

Result<KvStore> KvStore::create(backend::Backend& backend, const KvGroups& groups, std::int32_t n_pages,
                                std::int32_t window_pages) {
  std::vector<const KvGroup*> group_of(static_cast<std::size_t>(groups.layers()));
  for (const KvGroup& group : groups.groups) {
    if (auto checked = backend.check_kv_format(groups.format(group)); !checked && group.need.kv_heads > 0) {
      return checked.error();
    }
    for (const std::int64_t layer : group.layers) group_of[static_cast<std::size_t>(layer)] = &group;
  }
  std::vector<Layer> layers, windowed;
  std::vector<Place> places;
  for (const KvGroup* group : group_of) {
    const bool apart = window_pages > 0 && group->need.window > 0;
    std::vector<Layer>& of_kind = apart ? windowed : layers;
    places.push_back({.index = of_kind.size(), .windowed = apart});
    const backend::KvFormat format = groups.format(*group);
    const std::size_t page_bytes = group->need.kv_heads > 0 ? backend.kv_page_bytes(format) : 0;
    of_kind.push_back({.page_bytes = page_bytes, .format = format});
  }
  auto store = allocate(backend, groups.block_tokens, std::move(layers), n_pages);
  if (!store) return store;
  store->places_ = std::move(places);
  if (windowed.empty()) return store;
  auto apart = allocate(backend, groups.block_tokens, std::move(windowed), window_pages);
  if (!apart) return apart;
  store->windowed_.reset(new KvStore(*std::move(apart)));
  return store;
}

Result<KvStore> KvStore::allocate(backend::Backend& backend, std::int64_t block_tokens, std::vector<Layer> layers,
                                  std::int32_t n_pages) {
  KvStore store;
  store.backend_ = &backend;
  store.layers_ = std::move(layers);
  store.n_pages_ = static_cast<std::size_t>(n_pages);
  store.block_tokens_ = block_tokens;
  for (const Layer& layer : store.layers_) store.page_bytes_ += layer.page_bytes;
  const auto total = checked_mul(store.page_bytes_, store.n_pages_);
  if (!total) {
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens", "a KV cache of {} pages overflows", n_pages);
  }
  std::size_t offset = 0;
  for (Layer& layer : store.layers_) {
    layer.offset = offset;
    offset += layer.page_bytes * store.n_pages_;
  }
  if (*total == 0) return store;
  auto memory = backend.allocate(*total);
  if (!memory) return memory.error();
  store.memory_ = std::move(*memory);
  return store;
}

void KvStore::populate(BlockId first, std::int32_t n, double pause, const std::stop_token& stop) const noexcept {
  const auto end = std::min(static_cast<std::size_t>(first + n), n_pages_);
  const auto step = static_cast<std::size_t>(slice_pages());
  for (auto page = static_cast<std::size_t>(first); page < end; page += step) {
    for (const Layer& layer : layers_) {
      if (stop.stop_requested()) return;
      const auto start = std::chrono::steady_clock::now();
      memory_.populate(layer.offset + page * layer.page_bytes, std::min(step, end - page) * layer.page_bytes);
      if (pause > 0.0) std::this_thread::sleep_for(pause * (std::chrono::steady_clock::now() - start));
    }
  }
}

std::int32_t KvStore::slice_pages() const noexcept {
  std::size_t largest = 1;
  for (const Layer& layer : layers_) largest = std::max(largest, layer.page_bytes);
  return static_cast<std::int32_t>(std::max<std::size_t>(1, kHugePage / largest));
}

std::int32_t KvStore::memory_parts() const noexcept {
  return static_cast<std::int32_t>((memory_.size() + kHugePage - 1) / kHugePage);
}

void KvStore::give_back(std::int32_t part, const std::function<bool(BlockId)>& kept) {
  const std::size_t begin = static_cast<std::size_t>(part) * kHugePage;
  const std::size_t end = std::min(begin + kHugePage, memory_.size());
  std::size_t free = begin;  // bytes from here on to where the loop is are of no page that is kept
  for (const Layer& layer : layers_) {
    const std::size_t layer_end = layer.offset + layer.page_bytes * n_pages_;
    if (layer.page_bytes == 0 || layer_end <= begin || layer.offset >= end) continue;
    std::size_t page = begin <= layer.offset ? 0 : (begin - layer.offset) / layer.page_bytes;
    for (; page < n_pages_ && layer.offset + page * layer.page_bytes < end; ++page) {
      if (!kept(static_cast<BlockId>(page))) continue;
      const std::size_t at = layer.offset + page * layer.page_bytes;
      if (free < at) memory_.give_back(free, at - free);
      free = std::max(free, at + layer.page_bytes);
    }
  }
  if (free < end) memory_.give_back(free, end - free);
  const bool is_told = part % kPartsAtOnce == kPartsAtOnce - 1 || part + 1 == memory_parts();
  if (ranks_ && is_told) give_back_of_ranks(part, kept);
}

void KvStore::give_back_of_ranks(std::int32_t part, const std::function<bool(BlockId)>& kept) const {
  std::vector<BlockId> ranges;
  for (BlockId page = 0; page < pages(); ++page) {
    if (!kept(page)) continue;
    if (ranges.empty() || ranges.back() != page) ranges.insert(ranges.end(), {page, page});
    ++ranges.back();
  }
  ranks_->give_back(is_windowed_, {part - part % kPartsAtOnce, part + 1, memory_parts()}, std::move(ranges));
}

void KvStore::share(const std::shared_ptr<PageRanks>& ranks) noexcept {
  ranks_ = ranks;
  if (windowed_ == nullptr) return;
  windowed_->ranks_ = ranks;
  windowed_->is_windowed_ = true;
}

void KvStore::copy(BlockId from, BlockId to) {
  if (ranks_) ranks_->copy(is_windowed_, from, to);
  for (const Layer& layer : layers_) backend_->copy(page_of(layer, from), page_of(layer, to), layer.page_bytes);
}

void KvStore::read(BlockId page, std::span<std::byte> out) const {
  std::size_t at = 0;
  for (const Layer& layer : layers_) {
    backend_->download(page_of(layer, page), out.subspan(at, layer.page_bytes));
    at += layer.page_bytes;
  }
  if (ranks_) ranks_->read(is_windowed_, page, out.subspan(at));
}

void KvStore::write(BlockId page, std::span<const std::byte> in) {
  std::size_t at = 0;
  for (const Layer& layer : layers_) {
    backend_->upload(in.subspan(at, layer.page_bytes), page_of(layer, page));
    at += layer.page_bytes;
  }
  if (ranks_) ranks_->write(is_windowed_, page, in.subspan(at));
}

}  // namespace millrace::kv
