#include "kv/disk_tier.h"
#include "kv/paged_cache.h"
#include "kv/prefix_tree.h"

namespace millrace::kv {

void PagedCache::match_disk(const PrefixScope& scope, std::span<const std::int32_t> tokens, PrefixMatch& match) const {
  if (disk_->load_ms_per_page() >= recompute_ms_per_page_) return;
  const auto block_tokens = static_cast<std::size_t>(config_.block_tokens);
  const PageKey* parent = match.pages.empty() ? nullptr : &keys_[static_cast<std::size_t>(match.pages.back())];
  const PrefixScope before = scope.without_activated();
  const auto activated = static_cast<std::size_t>(scope.activated_page(config_.block_tokens));
  for (std::size_t first = match.pages.size() * block_tokens; first + block_tokens <= tokens.size();
       first += block_tokens) {
    const PageKey key =
        key_maker_->make(first < activated ? before : scope, parent, tokens.subspan(first, block_tokens));
    if (!disk_->contains(key)) break;
    match.disk.push_back(key);
    parent = &match.disk.back();
  }
  if (match.disk.empty()) return;
  match.partial = kNoBlock;
  match.partial_tokens = 0;
  match.disk_tokens = static_cast<std::int64_t>(match.disk.size() * block_tokens);
  match.tokens = static_cast<std::int64_t>(match.pages.size() * block_tokens) + match.disk_tokens;
}

std::int64_t PagedCache::attach_from_disk(BlockTable& table, const PrefixMatch& match) {
  std::int64_t pages = 0;
  for (const PageKey& key : match.disk) {
    if (!add_page(table)) break;
    if (!disk_->get(key, page_buffer_)) {
      table.truncate(table.capacity_tokens() - config_.block_tokens);
      break;
    }
    device_.write(table.blocks().back(), std::span(page_buffer_).first(page_bytes()));
    if (table.blocks().size() > table.behind()) {
      if (window_) window_device_->write(table.window_blocks().back(), std::span(page_buffer_).subspan(page_bytes()));
    }
    ++pages;
  }
  counters_.loaded_pages += pages;
  return pages * config_.block_tokens;
}

void PagedCache::write_to_disk(const PrefixScope& scope, const BlockTable& table, std::span<const std::int32_t> tokens,
                               const NewPages& pages) {
  const auto block_tokens = static_cast<std::size_t>(config_.block_tokens);
  const PageKey* parent = pages.before == kNoBlock ? nullptr : &keys_[static_cast<std::size_t>(pages.before)];
  const PrefixScope before = scope.without_activated();
  const auto activated = static_cast<std::size_t>(scope.activated_page(config_.block_tokens));
  for (auto page = static_cast<std::size_t>(pages.first); page < static_cast<std::size_t>(pages.first + pages.pages);
       ++page) {
    const BlockId block = table.blocks()[page];
    PageKey& key = keys_[static_cast<std::size_t>(block)];
    const std::size_t first = page * block_tokens;
    key = key_maker_->make(first < activated ? before : scope, parent, tokens.subspan(first, block_tokens));
    parent = &key;
    if (!disk_->writing() || disk_->contains(key)) continue;
    if (window_ && window_->of(block) == kNoBlock) continue;  // only whole ones
    device_.read(block, std::span(page_buffer_).first(page_bytes()));
    if (window_) window_device_->read(window_->of(block), std::span(page_buffer_).subspan(page_bytes()));
    if (intact()) disk_->put(key, page_buffer_);
  }
}

}  // namespace millrace::kv
