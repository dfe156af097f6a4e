#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "kv/page_device.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

struct PrefixNode;

// The first page of a node: its tokens, and PrefixScope::activated where it holds what that adds.
struct FirstPage {
  std::string_view activated;
  std::span<const std::int32_t> tokens;
};

// Orders the children of a node by their first pages. Of those with the same `activated`, no first page is a prefix of
// another, so the children next to the place of a given page have the longest common prefixes with it.
struct FirstPageLess {
  using is_transparent = void;
  std::size_t block_tokens = 1;

  bool operator()(const PrefixNode* a, const PrefixNode* b) const { return less(page(*a), page(*b)); }
  bool operator()(const PrefixNode* a, const FirstPage& b) const { return less(page(*a), b); }
  bool operator()(const FirstPage& a, const PrefixNode* b) const { return less(a, page(*b)); }
  static bool less(const FirstPage& a, const FirstPage& b) {
    if (a.activated != b.activated) return a.activated < b.activated;
    return std::ranges::lexicographical_compare(a.tokens, b.tokens);
  }
  inline FirstPage page(const PrefixNode& node) const;
};

// Place of a node in the order in which idle pages are evicted; the smallest goes first.
struct EvictionRank {
  bool inner = false;  // pages in use follow on its idle pages: only evicted when nothing else is idle
  int priority = 0;
  TimePoint last_used;
  std::int32_t id = 0;
  auto operator<=>(const EvictionRank&) const = default;
};

// A node of the tree with the edge that leads to it: pages of a sequence that always follow each other.
struct PrefixNode {
  explicit PrefixNode(std::size_t block_tokens) : children(FirstPageLess{block_tokens}) {}

  PrefixNode* parent = nullptr;        // null: the root of a scope, which has no pages
  const PrefixScope* scope = nullptr;  // only set in a root; without `activated`, which the nodes have
  std::string activated;               // PrefixScope::activated of all its pages; that of all children, if not empty
  std::int64_t begin = 0;              // tokens before it, a multiple of the page size
  std::vector<std::int32_t> tokens;
  std::vector<BlockId> blocks;  // the last one of a leaf may be partial
  std::set<PrefixNode*, FirstPageLess> children;
  std::int32_t id = 0;
  std::uint64_t generation = 0;  // changes whenever the node loses tokens
  std::int32_t idle = 0;         // how many of its pages are idle
  Retention retention;           // no lower than that of any descendant
  TimePoint last_used;
  std::optional<EvictionRank> rank;  // its place in EvictionOrder; none while it has no idle pages
  std::optional<TimePoint> expiry;

  std::int64_t end() const noexcept { return begin + static_cast<std::int64_t>(tokens.size()); }
};

FirstPage FirstPageLess::page(const PrefixNode& node) const {
  return {node.activated, std::span(node.tokens).first(std::min(block_tokens, node.tokens.size()))};
}

}  // namespace millrace::kv
