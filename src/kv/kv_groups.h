#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace millrace::kv {

// What one layer keeps for each token. No heads: nothing here, other ranks have the layer.
struct KvNeed {
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;  // sizes of a head, which may differ
  std::int64_t window = 0;  // tokens that attention looks back on, the token itself included; 0 = all
  bool operator==(const KvNeed&) const = default;
};

// Layers that keep keys and values of the same sizes in the same format.
struct KvGroup {
  KvNeed need;
  std::string_view encoding = "bf16";  // as in KvFormat
  std::vector<std::int64_t> layers;    // indices of the store's layers, ascending
};

// All layers that keep keys and values, in groups. One page number stands for the same B tokens in all groups: a
// sequence has one block table, and each of its pages has memory in every layer without a window. Layers with one may
// have fewer places, window pages (kv/window_pages.h), that pages get and lose.
struct KvGroups {
  std::int64_t block_tokens = 32;  // B
  std::string_view layout = {};    // name of the layout of pages (KvFormat)
  std::vector<KvGroup> groups;     // in the order of their first layers

  std::int64_t layers() const noexcept;
  backend::KvFormat format(const KvGroup& group) const noexcept;           // of the pages of one layer of the group
  std::size_t page_bytes(const backend::Backend& backend) const noexcept;  // of one page in all layers
  std::size_t window_page_bytes(const backend::Backend& backend) const noexcept;  // in those with a window
  std::int64_t window() const noexcept;                                           // the largest; 0: no layer has one
};

// Groups the layers by need and encoding; layer i of the store keeps layers[i]. `form` gives encoding, layout and page
// size of all groups, and its exceptions.
KvGroups group_layers(std::span<const KvNeed> layers, const backend::KvFormat& form);

}  // namespace millrace::kv
