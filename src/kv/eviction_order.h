#pragma once

#include <set>
#include <utility>

#include "kv/prefix_node.h"

namespace millrace::kv {

// Nodes with idle pages in the order of their eviction: expired ones, then by priority, then least recently used. Every
// call is O(log nodes).
class EvictionOrder {
 public:
  // Adds the node or moves it. `inner`: pages in use follow on its last idle page.
  void place(PrefixNode& node, bool inner);
  void remove(PrefixNode& node);
  PrefixNode* first(TimePoint now) const;  // the node to evict first; null: nothing is idle
  std::size_t size() const noexcept { return ranks_.size(); }

 private:
  template <typename Key>
  struct KeyLess {
    bool operator()(const std::pair<Key, PrefixNode*>& a, const std::pair<Key, PrefixNode*>& b) const {
      return a.first != b.first ? a.first < b.first : a.second->id < b.second->id;
    }
  };
  std::set<std::pair<EvictionRank, PrefixNode*>, KeyLess<EvictionRank>> ranks_;
  std::set<std::pair<TimePoint, PrefixNode*>, KeyLess<TimePoint>> expiries_;
};

}  // namespace millrace::kv
