#include <algorithm>

#include "base/check.h"
#include "kv/prefix_tree.h"

namespace millrace::kv {

void PrefixTree::check_integrity() const {
  std::int32_t pages = 0;
  std::size_t ranked = 0, ids = free_ids_.size();
  for (const auto& [scope, root] : roots_) {
    CHECK(scope.activated.empty() && root->activated.empty());
    CHECK(root->parent == nullptr && *root->scope == scope && root->blocks.empty() && !root->children.empty());
    std::vector<const PrefixNode*> walk{root};
    while (!walk.empty()) {
      const PrefixNode& node = *walk.back();
      walk.pop_back();
      check_node(node);
      ++ids;
      pages += static_cast<std::int32_t>(node.blocks.size());
      if (node.rank) ++ranked;
      walk.insert(walk.end(), node.children.begin(), node.children.end());
    }
  }
  CHECK_EQ(pages, pages_);
  CHECK_EQ(ids, nodes_.size());  // no node is unreachable
  CHECK_EQ(ranked, order_.size());
  std::int32_t published = 0;
  for (BlockId block = 0; block < pool_.total(); ++block) {
    if (pool_.published(block)) ++published;
    CHECK_EQ(pool_.published(block), owners_[static_cast<std::size_t>(block)] != nullptr);
  }
  CHECK_EQ(published, pages_);
}

void PrefixTree::check_node(const PrefixNode& node) const {
  CHECK(nodes_[static_cast<std::size_t>(node.id)].get() == &node);
  std::int32_t idle = 0;
  for (const BlockId block : node.blocks) {
    CHECK(owners_[static_cast<std::size_t>(block)] == &node);
    if (pool_.references(block) == 1) ++idle;
  }
  CHECK_EQ(idle, node.idle);
  CHECK_EQ(node.rank.has_value(), idle > 0);
  CHECK_EQ((node.tokens.size() + block_tokens_ - 1) / block_tokens_, node.blocks.size());
  if (!node.children.empty()) CHECK_EQ(node.tokens.size() % block_tokens_, 0u);
  const PrefixNode* before = nullptr;
  for (const PrefixNode* child : node.children) {
    CHECK(child->parent == &node && child->begin == node.end() && !child->blocks.empty());
    CHECK(node.activated.empty() || child->activated == node.activated);
    if (before != nullptr) {
      const FirstPageLess& less = node.children.key_comp();
      const auto a = less.page(*before), b = less.page(*child);
      CHECK(FirstPageLess::less(a, b));
      // No first page is the beginning of a sibling's.
      CHECK(a.activated != b.activated || std::ranges::mismatch(a.tokens, b.tokens).in1 != a.tokens.end());
    }
    before = child;
  }
}

}  // namespace millrace::kv
