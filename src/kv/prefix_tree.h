#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/env.h"
#include "kv/block_pool.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

struct PrefixMatch;

// Published pages by the tokens they hold: a radix tree whose edges are whole pages, and partial ones at its leaves
// (RadixAttention, arXiv:2312.07104). Identity is scope, parent and the tokens themselves, never a hash alone. The tree
// holds one reference to each page; a page nobody else holds is idle and may be evicted, leaves first.
class PrefixTree {
 public:
  PrefixTree(BlockPool& pool, std::int64_t block_tokens);
  ~PrefixTree();

  PrefixMatch match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const;
  void touch(const PrefixScope& scope, std::span<const std::int32_t> tokens, TimePoint now);  // used just now
  // Pages that are published already stay as they are; `blocks` are the caller's.
  void publish(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks,
               const Retention& retention, TimePoint now);
  void forget(const PrefixScope& scope, std::span<const std::int32_t> tokens, std::int64_t from);

  std::int32_t pages() const noexcept;      // published
  std::int32_t evictable() const noexcept;  // idle pages that can go, all idle descendants included; O(1)
  // Frees up to n idle pages; returns how many. O(n log pages).
  std::int32_t evict(std::int32_t n, TimePoint now);
  // A published page's contents have moved.
  void relocate(BlockId from, BlockId to);
  void check_integrity() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::kv
