#include "kv/kv_groups.h"

#include <algorithm>

namespace millrace::kv {

std::int64_t KvGroups::layers() const noexcept {
  std::int64_t count = 0;
  for (const KvGroup& group : groups) count += std::ssize(group.layers);
  return count;
}

backend::KvFormat KvGroups::format(const KvGroup& group) const noexcept {
  return {.encoding = group.encoding,
          .block_tokens = block_tokens,
          .layout = layout,
          .kv_heads = group.need.kv_heads,
          .key_dim = group.need.key_dim,
          .value_dim = group.need.value_dim};
}

std::size_t KvGroups::page_bytes(const backend::Backend& backend) const noexcept {
  std::size_t bytes = 0;
  for (const KvGroup& group : groups) {
    if (group.need.kv_heads > 0) bytes += backend.kv_page_bytes(format(group)) * group.layers.size();
  }
  return bytes;
}

std::size_t KvGroups::window_page_bytes(const backend::Backend& backend) const noexcept {
  std::size_t bytes = 0;
  for (const KvGroup& group : groups) {
    if (group.need.window > 0 && group.need.kv_heads > 0)
      bytes += backend.kv_page_bytes(format(group)) * group.layers.size();
  }
  return bytes;
}

std::int64_t KvGroups::window() const noexcept {
  std::int64_t largest = 0;
  for (const KvGroup& group : groups) largest = std::max(largest, group.need.window);
  return largest;
}

KvGroups group_layers(std::span<const KvNeed> layers, const backend::KvFormat& form) {
  KvGroups all{.block_tokens = form.block_tokens, .layout = form.layout, .groups = {}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    std::string_view encoding = form.encoding;
    if (form.exceptions != nullptr) {
      for (const backend::KvException& e : *form.exceptions) {
        if (layer >= e.first && layer <= e.last) encoding = e.encoding;
      }
    }
    auto group = std::ranges::find_if(all.groups,
                                      [&](const KvGroup& g) { return g.need == layers[i] && g.encoding == encoding; });
    if (group == all.groups.end()) {
      group = all.groups.insert(group, KvGroup{.need = layers[i], .encoding = encoding, .layers = {}});
    }
    group->layers.push_back(layer);
  }
  return all;
}

}  // namespace millrace::kv
