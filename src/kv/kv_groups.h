#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace millrace::kv {

// What one layer keeps of each token.
struct KvNeed {
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;  // sizes of a head, which may differ
  std::int64_t window = 0;                                // tokens the layer looks back, itself included; 0 = all
  bool operator==(const KvNeed&) const = default;
};

// Layers that keep the same.
struct KvGroup {
  KvNeed need;
  DType dtype = DType::kBF16;
  std::vector<std::int64_t> layers;  // numbers of the store's layers, ascending
};

// The layers that keep keys and values, by what they keep. One page number stands for the same B tokens in all groups:
// a sequence has one block table, and a page of it has memory in every layer. Pages behind a window are not released,
// so all groups are of one length.
struct KvGroups {
  std::int64_t block_tokens = 32;  // B
  std::string_view layout = {};    // see KvFormat
  std::vector<KvGroup> groups;     // in the order of their first layers

  std::int64_t layers() const noexcept;
  backend::KvFormat format(const KvGroup& group) const noexcept;           // of the pages of one of its layers
  std::size_t page_bytes(const backend::Backend& backend) const noexcept;  // of one page in all layers
};

// Layer i of the store keeps layers[i].
KvGroups group_layers(std::span<const KvNeed> layers, const backend::KvFormat& form);

}  // namespace millrace::kv
