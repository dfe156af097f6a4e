#include "kv/eviction_order.h"

namespace millrace::kv {

void EvictionOrder::place(PrefixNode& node, bool inner) {
  const EvictionRank rank{inner, node.retention.priority, node.last_used, node.id};
  std::optional<TimePoint> expiry;
  if (node.retention.time_to_live && !inner) expiry = node.last_used + *node.retention.time_to_live;
  if (node.rank == rank && node.expiry == expiry) return;
  remove(node);
  ranks_.emplace(rank, &node);
  node.rank = rank;
  if (expiry) expiries_.emplace(*expiry, &node);
  node.expiry = expiry;
}

void EvictionOrder::remove(PrefixNode& node) {
  if (node.rank) ranks_.erase({*node.rank, &node});
  if (node.expiry) expiries_.erase({*node.expiry, &node});
  node.rank.reset();
  node.expiry.reset();
}

PrefixNode* EvictionOrder::first(TimePoint now) const {
  if (!expiries_.empty() && expiries_.begin()->first <= now) return expiries_.begin()->second;
  return ranks_.empty() ? nullptr : ranks_.begin()->second;
}

}  // namespace millrace::kv
