#include "text/byte_trie.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"

namespace millrace::text {

// Lays out nodes one after the other, depth first over the sorted strings. Children stand at base + byte, where all of
// their places are free.
class ByteTrieBuilder {
 public:
  using Node = ByteTrie::Node;
  using Unit = ByteTrie::Unit;

  explicit ByteTrieBuilder(const StringTable& keys) : keys_(keys) {}
  std::vector<Unit> build();

 private:
  // The strings order_[begin, end) share their first `depth` bytes, which lead to `node`.
  struct Range {
    Node node;
    std::size_t begin, end, depth;
  };

  void expand(const Range& range);
  std::uint32_t find_base() const;
  bool fits(std::uint32_t base) const;
  void grow();
  void take(Node at, Node parent);
  unsigned char byte(std::size_t i, std::size_t depth) const {
    return static_cast<unsigned char>(keys_[order_[i]][depth]);
  }
  static constexpr int kTries = 256;  // free places looked at before new ones are made: bounds the time a node takes

  const StringTable& keys_;
  std::vector<std::uint32_t> order_;
  std::vector<Range> open_;
  std::vector<Unit> units_;
  std::vector<Range> children_;  // of the node being laid out
  Node first_free_ = ByteTrie::kNone, last_free_ = ByteTrie::kNone;
  std::size_t nodes_ = 0;
};

std::vector<ByteTrie::Unit> ByteTrieBuilder::build() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].size() <= ByteTrie::kMaxKeyBytes) continue;
    throw_load_error(ErrorCode::kBadFile, "tokens", "token {} has {} bytes; the limit is {}", i, keys_[i].size(),
                     ByteTrie::kMaxKeyBytes);
  }
  order_.resize(keys_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::erase_if(order_, [&](std::uint32_t i) { return keys_[i].empty(); });
  std::ranges::stable_sort(order_, {}, [&](std::uint32_t i) { return keys_[i]; });
  grow();
  take(ByteTrie::kRoot, ByteTrie::kRoot);
  if (!order_.empty()) open_.push_back({ByteTrie::kRoot, 0, order_.size(), 0});
  while (!open_.empty()) {
    const Range range = open_.back();
    open_.pop_back();
    expand(range);
  }
  grow();  // base + byte never reaches past the end
  for (Unit& unit : units_) {
    if (unit.parent == ByteTrie::kNone) unit = Unit{};
  }
  units_[ByteTrie::kRoot].parent = ByteTrie::kNone;  // no node's child, whatever its base
  return std::move(units_);
}

void ByteTrieBuilder::expand(const Range& range) {
  std::size_t i = range.begin;
  for (; i < range.end && keys_[order_[i]].size() == range.depth; ++i) {
    units_[range.node].token = static_cast<TokenId>(order_[i]);
  }
  children_.clear();
  for (; i < range.end; ++i) {
    if (children_.empty() || byte(i, range.depth) != byte(children_.back().begin, range.depth)) {
      children_.push_back({0, i, i, range.depth + 1});
    }
    children_.back().end = i + 1;
  }
  if (children_.empty()) return;
  nodes_ += children_.size();
  if (nodes_ > ByteTrie::kMaxNodes) {
    throw_load_error(ErrorCode::kBadFile, "tokens", "the tokens have more than {} different beginnings",
                     ByteTrie::kMaxNodes);
  }
  std::uint32_t base = find_base();
  if (base == ByteTrie::kNone) {
    base = static_cast<std::uint32_t>(units_.size());
    grow();
  }
  units_[range.node].base = base;
  for (Range& child : children_) {
    child.node = base + byte(child.begin, range.depth);
    take(child.node, range.node);
  }
  open_.insert(open_.end(), children_.begin(), children_.end());
}

// A base at which all children are free; kNone if none is near. An only child takes the first free place of all, which
// fills the gaps; several look among the last ones, where most is free.
std::uint32_t ByteTrieBuilder::find_base() const {
  const std::uint32_t first = byte(children_.front().begin, children_.front().depth - 1);
  const bool only = children_.size() == 1;
  Node free = only ? first_free_ : last_free_;
  for (int i = 0; i < kTries && free != ByteTrie::kNone; ++i) {
    if (free >= first && fits(free - first)) return free - first;
    free = only ? units_[free].base : static_cast<Node>(units_[free].token);
  }
  return ByteTrie::kNone;
}

bool ByteTrieBuilder::fits(std::uint32_t base) const {
  return std::ranges::all_of(children_, [&](const Range& child) {
    const std::size_t at = base + byte(child.begin, child.depth - 1);
    return at < units_.size() && units_[at].parent == ByteTrie::kNone;
  });
}

// 256 more units, free.
void ByteTrieBuilder::grow() {
  for (int i = 0; i < 256; ++i) {
    const auto at = static_cast<Node>(units_.size());
    units_.push_back({ByteTrie::kNone, ByteTrie::kNone, static_cast<std::int32_t>(last_free_)});
    (last_free_ == ByteTrie::kNone ? first_free_ : units_[last_free_].base) = at;
    last_free_ = at;
  }
}

void ByteTrieBuilder::take(Node at, Node parent) {
  const Node next = units_[at].base, previous = static_cast<Node>(units_[at].token);
  if (previous == ByteTrie::kNone) {
    first_free_ = next;
  } else {
    units_[previous].base = next;
  }
  if (next == ByteTrie::kNone) {
    last_free_ = previous;
  } else {
    units_[next].token = static_cast<std::int32_t>(previous);
  }
  units_[at] = {0, parent, -1};
}

ByteTrie::ByteTrie(const StringTable& keys) : units_(ByteTrieBuilder(keys).build()) {}

ByteTrie::Node ByteTrie::walk(Node node, std::string_view bytes) const noexcept {
  for (const char byte : bytes) {
    if (node == kNone) break;
    node = step(node, byte);
  }
  return node;
}

TokenId ByteTrie::find(std::string_view text) const noexcept {
  const Node node = text.empty() ? kNone : walk(kRoot, text);
  return node == kNone ? -1 : token(node);
}

std::size_t ByteTrie::longest_prefix(std::string_view text) const noexcept {
  std::size_t longest = 0;
  Node node = kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = step(node, text[i]);
    if (node == kNone) break;
    if (token(node) >= 0) longest = i + 1;
  }
  return longest;
}

}  // namespace millrace::text
