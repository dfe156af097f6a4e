#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/env.h"
#include "kv/page_device.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

struct PrefixNode;

// Orders the children of a node by the tokens of their first pages. No first page is the beginning of a sibling's, so
// the neighbours of a page's place have the longest beginnings in common with it.
struct FirstPageLess {
  using is_transparent = void;
  using Tokens = std::span<const std::int32_t>;
  std::size_t block_tokens = 1;

  bool operator()(const PrefixNode* a, const PrefixNode* b) const { return less(page(*a), page(*b)); }
  bool operator()(const PrefixNode* a, Tokens b) const { return less(page(*a), b); }
  bool operator()(Tokens a, const PrefixNode* b) const { return less(a, page(*b)); }
  static bool less(Tokens a, Tokens b) { return std::ranges::lexicographical_compare(a, b); }
  inline Tokens page(const PrefixNode& node) const;
};

// When an idle node's pages go: the key, smallest first.
struct EvictionRank {
  bool inner = false;  // something that is in use stands on its idle pages: only if nothing else is left
  int priority = 0;
  TimePoint last_used;
  std::int32_t id = 0;
  auto operator<=>(const EvictionRank&) const = default;
};

// An edge of the tree with the node at its end: pages that always come one after the other.
struct PrefixNode {
  explicit PrefixNode(std::size_t block_tokens) : children(FirstPageLess{block_tokens}) {}

  PrefixNode* parent = nullptr;        // null: the root of a scope, without pages
  const PrefixScope* scope = nullptr;  // of a root
  std::int64_t begin = 0;              // tokens before it; whole pages
  std::vector<std::int32_t> tokens;
  std::vector<BlockId> blocks;  // the last one may be partial in a leaf
  std::set<PrefixNode*, FirstPageLess> children;
  std::int32_t id = 0;
  std::uint64_t generation = 0;  // changes with every loss of tokens
  std::int32_t idle = 0;         // of its pages
  Retention retention;           // at least that of each descendant
  TimePoint last_used;
  std::optional<EvictionRank> rank;  // where it is in the order of eviction
  std::optional<TimePoint> expiry;

  std::int64_t end() const noexcept { return begin + static_cast<std::int64_t>(tokens.size()); }
};

FirstPageLess::Tokens FirstPageLess::page(const PrefixNode& node) const {
  return Tokens(node.tokens).first(std::min(block_tokens, node.tokens.size()));
}

}  // namespace millrace::kv
