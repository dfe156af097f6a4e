#include "kv/prefix_tree.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "kv/window_pages.h"

namespace millrace::kv {
namespace {

std::size_t common_tokens(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const std::size_t n = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first - a.begin());
}

// What is kept for both of two requests is kept as long as the more demanding one asks.
Retention stronger(const Retention& a, const Retention& b) {
  Retention both{std::max(a.priority, b.priority), std::nullopt};
  if (a.time_to_live && b.time_to_live) both.time_to_live = std::max(*a.time_to_live, *b.time_to_live);
  return both;
}

}  // namespace

PrefixTree::PrefixTree(BlockPool& pool, std::int64_t block_tokens, const WindowPages* window)
    : pool_(pool),
      window_(window),
      block_tokens_(static_cast<std::size_t>(block_tokens)),
      owners_(static_cast<std::size_t>(pool.total()), nullptr),
      version_(static_cast<std::size_t>(pool.total()), 0) {
  pool_.watch(this);
}

PrefixTree::~PrefixTree() { pool_.watch(nullptr); }

PrefixTree::Path PrefixTree::path_of(const PrefixScope& scope, std::span<const std::int32_t> tokens) const {
  return {tokens, scope.activated,
          static_cast<std::size_t>(scope.activated_page(static_cast<std::int64_t>(block_tokens_)))};
}

PrefixNode* PrefixTree::root_of(const PrefixScope& scope) const {
  const auto root = scope.activated.empty() ? roots_.find(scope) : roots_.find(scope.without_activated());
  return root == roots_.end() ? nullptr : root->second;
}

PrefixTree::Place PrefixTree::descend(Place from, const Path& path) const {
  PrefixNode* node = from.node;
  auto at = static_cast<std::size_t>(from.tokens);
  for (;;) {
    // Where others go on without what the path has from a page on, that page is another.
    const std::size_t end =
        node->activated.empty() ? std::min(path.tokens.size(), path.activated_page) : path.tokens.size();
    CHECK_LE(at, end);
    const auto edge = std::span<const std::int32_t>(node->tokens).subspan(at - static_cast<std::size_t>(node->begin));
    at += common_tokens(edge, path.tokens.first(end).subspan(at));
    const Place here{node, static_cast<std::int64_t>(at)};
    if (here.tokens < node->end() || at == path.tokens.size() || at % block_tokens_ != 0) return here;
    node = best_child(*node, path, at);
    if (node == nullptr) return here;
  }
}

// The child that begins with the most of the path behind `at`; null: none has its first token.
PrefixNode* PrefixTree::best_child(const PrefixNode& node, const Path& path, std::size_t at) const {
  const std::span<const std::int32_t> rest = path.tokens.subspan(at);
  const FirstPage page{path.activated_at(at), rest.first(std::min(block_tokens_, rest.size()))};
  const auto behind = node.children.lower_bound(page);
  PrefixNode* best = nullptr;
  std::size_t longest = 0;
  const auto consider = [&](PrefixNode* child) {
    const std::size_t common = child->activated == page.activated ? common_tokens(child->tokens, page.tokens) : 0;
    if (common > longest) best = child, longest = common;
  };
  if (behind != node.children.end()) consider(*behind);
  if (behind != node.children.begin()) consider(*std::prev(behind));
  return best;
}

PrefixMatch PrefixTree::match(const PrefixScope& scope, std::span<const std::int32_t> tokens) const {
  PrefixMatch match;
  match.queried = static_cast<std::int64_t>(tokens.size());
  match.version = versions_;
  PrefixNode* root = root_of(scope);
  if (root == nullptr) return match;
  const Place place = descend({root, 0}, path_of(scope, tokens));
  const auto block_tokens = static_cast<std::int64_t>(block_tokens_);
  const std::int64_t whole = place.tokens / block_tokens;
  match.tokens = place.tokens;
  match.partial_tokens = place.tokens % block_tokens;
  if (match.partial_tokens > 0) {
    match.partial = place.node->blocks[static_cast<std::size_t>(whole - place.node->begin / block_tokens)];
  }
  match.pages.resize(static_cast<std::size_t>(whole));
  for (const PrefixNode* node = place.node; node->parent != nullptr; node = node->parent) {
    const std::int64_t first = node->begin / block_tokens;
    for (std::int64_t i = first; i < std::min(whole, first + static_cast<std::int64_t>(node->blocks.size())); ++i) {
      const BlockId block = node->blocks[static_cast<std::size_t>(i - first)];
      match.pages[static_cast<std::size_t>(i)] = block;
      if (pool_.references(block) == 1) ++match.idle;
    }
  }
  return match;
}

bool PrefixTree::holds(BlockId block, std::uint64_t version) const {
  return pool_.published(block) && version_[static_cast<std::size_t>(block)] <= version;
}

PublishCursor PrefixTree::touch(BlockId block, std::int64_t tokens, TimePoint now) {
  clock_ = std::max(clock_, now);
  const PrefixNode& last = *owner(block);
  for (PrefixNode* node = owner(block); node->parent != nullptr; node = node->parent) {
    node->last_used = clock_;
    rank(*node);
  }
  return {tokens, last.id, last.generation};
}

std::int64_t PrefixTree::tokens_in(BlockId block) const {
  const PrefixNode* node = owners_[static_cast<std::size_t>(block)];
  if (node == nullptr) return 0;
  const std::size_t before_last = (node->blocks.size() - 1) * block_tokens_;
  return static_cast<std::int64_t>(node->blocks.back() == block ? node->tokens.size() - before_last : block_tokens_);
}

bool PrefixTree::current(const PublishCursor& cursor) const {
  if (cursor.node < 0) return false;
  const PrefixNode* node = nodes_[static_cast<std::size_t>(cursor.node)].get();
  return node != nullptr && node->generation == cursor.generation;
}

PrefixTree::Place PrefixTree::start(const PrefixScope& scope, const PublishCursor& cursor) {
  if (current(cursor)) {
    PrefixNode* node = nodes_[static_cast<std::size_t>(cursor.node)].get();
    // Amid its first page others may go on differently beside it.
    if (cursor.tokens < node->begin + static_cast<std::int64_t>(block_tokens_)) return {node->parent, node->begin};
    return {node, cursor.tokens};
  }
  const auto [at, inserted] = roots_.try_emplace(scope.without_activated(), nullptr);
  if (inserted) {
    at->second = &make_node(nullptr, 0);
    at->second->scope = &at->first;
  }
  return {at->second, 0};
}

NewPages PrefixTree::publish(const PrefixScope& scope, std::span<const std::int32_t> tokens,
                             std::span<const BlockId> blocks, const Retention& retention, TimePoint now,
                             PublishCursor& cursor) {
  clock_ = std::max(clock_, now);
  if (tokens.empty()) return {};
  const Path path = path_of(scope, tokens);
  if (path.activated_page >= tokens.size()) return publish_path(start(scope, cursor), path, blocks, retention, cursor);
  NewPages added;
  const bool begun = current(cursor) && cursor.tokens >= static_cast<std::int64_t>(path.activated_page);
  if (path.activated_page > 0 && !begun) {
    const Path before{.tokens = tokens.first(path.activated_page), .activated_page = path.activated_page};
    added = publish_path(start(scope, cursor), before, blocks, retention, cursor);
  }
  NewPages rest = publish_path(start(scope, cursor), path, blocks, retention, cursor);
  if (added.pages == 0) std::swap(added.pages, rest.pages), added.first = rest.first, added.before = rest.before;
  added.pages += rest.pages;
  added.replaced.insert(added.replaced.end(), rest.replaced.begin(), rest.replaced.end());
  return added;
}

NewPages PrefixTree::publish_path(Place from, const Path& path, std::span<const BlockId> blocks,
                                  const Retention& retention, PublishCursor& cursor) {
  const std::span<const std::int32_t> tokens = path.tokens;
  const Place place = descend(from, path);
  const auto block_tokens = static_cast<std::int64_t>(block_tokens_);
  const auto n = static_cast<std::int64_t>(tokens.size());
  const std::string_view activated = path.activated_at(tokens.size() - 1);
  PrefixNode* node = place.node;
  NewPages added;
  if (window_ != nullptr) replace_lost(from, place, blocks, added);
  if (place.tokens < n) {
    if (place.tokens == node->end() && place.tokens % block_tokens != 0) {
      extend_partial(*node, tokens, blocks);
    } else {
      PrefixNode& parent = parent_for_new_page(place);
      const bool ends = parent.parent != nullptr && parent.children.empty() && parent.activated == activated;
      if (ends && parent.retention == retention) {
        node = &parent;
        append(*node, tokens, blocks);
      } else {
        node = &make_node(&parent, place.tokens / block_tokens * block_tokens, activated);
        append(*node, tokens, blocks);
        CHECK(parent.children.insert(node).second);
        rank(parent);
      }
    }
    added.first = place.tokens / block_tokens;
    added.pages = n / block_tokens - added.first;
    added.before = page_before(*node, added.first);
  }
  node->last_used = clock_;
  raise(*node, retention);
  rank(*node);
  cursor = {n, node->id, node->generation};
  return added;
}

// Pages between the places that are published without their window pages are of little use: the sequence's own, which
// have theirs, take their place.
void PrefixTree::replace_lost(Place from, Place to, std::span<const BlockId> blocks, NewPages& added) {
  const WindowPages& window = *window_;
  const auto block_tokens = static_cast<std::int64_t>(block_tokens_);
  for (PrefixNode* node = to.node; node->parent != nullptr && node->end() > from.tokens; node = node->parent) {
    const std::int64_t begin = std::max(node->begin, from.tokens / block_tokens * block_tokens);
    for (std::int64_t at = begin; at + block_tokens <= std::min(node->end(), to.tokens); at += block_tokens) {
      BlockId& published = node->blocks[static_cast<std::size_t>((at - node->begin) / block_tokens)];
      const BlockId own = blocks[static_cast<std::size_t>(at / block_tokens)];
      if (own == published || window.of(published) != kNoBlock || window.of(own) == kNoBlock) continue;
      if (pool_.published(own)) continue;
      added.replaced.emplace_back(published, own);
      drop_page(published, *node);
      published = own;
      pool_.publish(own);
      owner(own) = node;
      version_[static_cast<std::size_t>(own)] = ++versions_;
      ++pages_;
    }
    rank(*node);
  }
}

BlockId PrefixTree::page_before(const PrefixNode& node, std::int64_t page) const {
  const auto index = static_cast<std::size_t>(page) - static_cast<std::size_t>(node.begin) / block_tokens_;
  if (index > 0) return node.blocks[index - 1];
  return node.parent->blocks.empty() ? kNoBlock : node.parent->blocks.back();
}

// The node that a page may follow which differs, or is the first to be there, at `place`.
PrefixNode& PrefixTree::parent_for_new_page(Place place) {
  PrefixNode& node = *place.node;
  const std::size_t keep = static_cast<std::size_t>(place.tokens - node.begin) / block_tokens_;
  if (keep == node.blocks.size()) return node;
  return keep == 0 ? *node.parent : split(node, keep);
}

PrefixNode& PrefixTree::split(PrefixNode& node, std::size_t keep) {
  const std::size_t kept = keep * block_tokens_;
  PrefixNode& lower = make_node(&node, node.begin + static_cast<std::int64_t>(kept), node.activated);
  lower.tokens.assign(node.tokens.begin() + static_cast<std::ptrdiff_t>(kept), node.tokens.end());
  lower.blocks.assign(node.blocks.begin() + static_cast<std::ptrdiff_t>(keep), node.blocks.end());
  node.tokens.resize(kept);
  node.blocks.resize(keep);
  node.generation = ++generation_;
  lower.children.swap(node.children);
  for (PrefixNode* child : lower.children) child->parent = &lower;
  node.children.insert(&lower);
  lower.retention = node.retention;
  lower.last_used = node.last_used;
  for (const BlockId block : lower.blocks) {
    owner(block) = &lower;
    if (pool_.references(block) == 1) ++lower.idle;
  }
  node.idle -= lower.idle;
  rank(lower);
  rank(node);
  return node;
}

PrefixNode& PrefixTree::make_node(PrefixNode* parent, std::int64_t begin, std::string_view activated) {
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<std::int32_t>(nodes_.size()));
    nodes_.emplace_back();
  }
  const std::int32_t id = free_ids_.back();
  free_ids_.pop_back();
  auto& node = nodes_[static_cast<std::size_t>(id)];
  node = std::make_unique<PrefixNode>(block_tokens_);
  node->parent = parent;
  node->begin = begin;
  node->activated = activated;
  node->id = id;
  node->generation = ++generation_;
  node->retention.priority = 0;
  node->retention.time_to_live = std::chrono::milliseconds(0);
  return *node;
}

// Adds the pages behind the node's last one, which is whole.
void PrefixTree::append(PrefixNode& node, std::span<const std::int32_t> tokens, std::span<const BlockId> blocks) {
  const auto end = static_cast<std::size_t>(node.end());
  for (std::size_t page = end / block_tokens_; page * block_tokens_ < tokens.size(); ++page) {
    pool_.publish(blocks[page]);
    owner(blocks[page]) = &node;
    version_[static_cast<std::size_t>(blocks[page])] = ++versions_;
    node.blocks.push_back(blocks[page]);
    ++pages_;
  }
  node.tokens.insert(node.tokens.end(), tokens.begin() + static_cast<std::ptrdiff_t>(end), tokens.end());
}

// `tokens` go on where the node's last page ends before it is full: the same page holds more now, or another one takes
// its place.
void PrefixTree::extend_partial(PrefixNode& node, std::span<const std::int32_t> tokens,
                                std::span<const BlockId> blocks) {
  const std::size_t whole = (node.blocks.size() - 1) * block_tokens_;
  const std::size_t page = static_cast<std::size_t>(node.begin) / block_tokens_ + node.blocks.size() - 1;
  const bool is_key = node.blocks.size() == 1;
  if (is_key) node.parent->children.erase(&node);
  if (node.blocks.back() == blocks[page]) {
    const std::size_t end = std::min(tokens.size(), (page + 1) * block_tokens_);
    node.tokens.insert(node.tokens.end(), tokens.begin() + static_cast<std::ptrdiff_t>(node.end()),
                       tokens.begin() + static_cast<std::ptrdiff_t>(end));
  } else {
    drop_page(node.blocks.back(), node);
    node.blocks.pop_back();
    node.tokens.resize(whole);
  }
  if (static_cast<std::size_t>(node.end()) < tokens.size()) append(node, tokens, blocks);
  if (is_key) CHECK(node.parent->children.insert(&node).second);
}

void PrefixTree::raise(PrefixNode& node, const Retention& retention) {
  for (PrefixNode* at = &node; at->parent != nullptr; at = at->parent) {
    const Retention both = stronger(at->retention, retention);
    if (both == at->retention) return;
    at->retention = both;
    rank(*at);
  }
}

std::vector<BlockId> PrefixTree::forget(const PrefixScope& scope, std::span<const std::int32_t> tokens,
                                        std::int64_t from) {
  PrefixNode* root = root_of(scope);
  if (root == nullptr) return {};
  const Place place = descend({root, 0}, path_of(scope, tokens));
  if (place.tokens <= from) return {};
  const auto block_tokens = static_cast<std::int64_t>(block_tokens_);
  const std::int64_t page = from / block_tokens;
  const bool differs = place.tokens < place.node->end() && place.tokens < static_cast<std::int64_t>(tokens.size());
  if (differs && place.tokens / block_tokens == page) return {};  // another text's page
  PrefixNode* node = place.node;
  while (node->begin > page * block_tokens) node = node->parent;
  std::vector<BlockId> gone;
  cut(*node, static_cast<std::size_t>(page - node->begin / block_tokens), &gone);
  return gone;
}

std::int32_t PrefixTree::evict(std::int32_t n, TimePoint now) {
  clock_ = std::max(clock_, now);
  const std::int32_t before = pool_.free();
  while (pool_.free() - before < n) {
    PrefixNode* node = order_.first(clock_);
    if (node == nullptr) break;
    std::size_t keep = node->blocks.size() - 1;
    while (pool_.references(node->blocks[keep]) > 1) --keep;
    cut(*node, keep);
  }
  return pool_.free() - before;
}

void PrefixTree::cut(PrefixNode& node, std::size_t keep, std::vector<BlockId>* gone) {
  const auto drop = [&](BlockId block, PrefixNode& from) {
    if (gone != nullptr && tokens_in(block) == static_cast<std::int64_t>(block_tokens_)) gone->push_back(block);
    drop_page(block, from);
  };
  std::vector<PrefixNode*> below(node.children.begin(), node.children.end());
  node.children.clear();
  for (std::size_t i = 0; i < below.size(); ++i) {
    below.insert(below.end(), below[i]->children.begin(), below[i]->children.end());
    for (const BlockId block : below[i]->blocks) drop(block, *below[i]);
  }
  for (PrefixNode* child : below) destroy(*child);
  PrefixNode* parent = node.parent;
  if (keep == 0) parent->children.erase(&node);
  while (node.blocks.size() > keep) {
    drop(node.blocks.back(), node);
    node.blocks.pop_back();
    node.tokens.resize(node.blocks.size() * block_tokens_);
  }
  if (keep > 0) {
    node.generation = ++generation_;
    rank(node);
    return;
  }
  destroy(node);
  if (parent->parent != nullptr) {
    rank(*parent);
  } else if (parent->children.empty()) {
    roots_.erase(roots_.find(*parent->scope));
    destroy(*parent);
  }
}

void PrefixTree::drop_page(BlockId block, PrefixNode& node) {
  if (pool_.references(block) == 1) --node.idle;
  owner(block) = nullptr;
  --pages_;
  pool_.unpublish(block);
}

void PrefixTree::destroy(PrefixNode& node) {
  order_.remove(node);
  free_ids_.push_back(node.id);
  nodes_[static_cast<std::size_t>(node.id)].reset();
}

void PrefixTree::rank(PrefixNode& node) {
  if (node.idle == 0) {
    order_.remove(node);
  } else {
    order_.place(node, !node.children.empty() || pool_.references(node.blocks.back()) > 1);
  }
}

void PrefixTree::idle_changed(BlockId block, bool idle) {
  PrefixNode& node = *owner(block);
  node.idle += idle ? 1 : -1;
  if (idle) node.last_used = clock_;
  rank(node);
}

void PrefixTree::relocate(BlockId from, BlockId to) {
  PrefixNode& node = *owner(from);
  CHECK_LT(1, pool_.references(from));  // an idle page has no reason to move
  *std::find(node.blocks.begin(), node.blocks.end(), from) = to;
  owner(to) = &node;
  owner(from) = nullptr;
  version_[static_cast<std::size_t>(to)] = ++versions_;
  pool_.publish(to);
  pool_.unpublish(from);
}

}  // namespace millrace::kv
