#pragma once

#include <cstdint>
#include <vector>

#include "kv/free_extents.h"
#include "kv/page_device.h"

namespace millrace::kv {

// Is called when a published page becomes idle (no table holds it, only the tree) and when it is used again.
class IdleWatcher {
 public:
  virtual ~IdleWatcher() = default;
  virtual void idle_changed(BlockId block, bool idle) = 0;
};

// Is called when a page was published, and before it is published no more.
class PublishWatcher {
 public:
  virtual ~PublishWatcher() = default;
  virtual void published(BlockId block) = 0;
  virtual void unpublished(BlockId block) = 0;
};

// The pages of the KV cache as numbers: which are free, and how many references each of the others has. Host logic
// only. Engine thread only. Always free() + used() == total(); check_integrity() walks all and checks it.
class BlockPool {
 public:
  // `device`, if any, is told of pages that are handed out and freed, and must outlive the pool.
  explicit BlockPool(std::int32_t total, PageDevice* device = nullptr);

  std::int32_t total() const noexcept { return static_cast<std::int32_t>(references_.size()); }
  std::int32_t free() const noexcept { return runs_.pages(); }
  std::int32_t used() const noexcept { return total() - free(); }
  std::int32_t idle() const noexcept { return idle_; }  // pages in use that are published and in no table

  // Appends n pages with one reference each to `out`; returns false, and changes nothing, where fewer are free. The
  // pages are contiguous if possible, since a decode step reads contiguous pages as one stream: first those behind
  // `after` (the sequence's page before them, or kNoBlock), else from a quarter into the longest free extent, so that
  // the sequence before it and the new one can both grow in place.
  bool allocate(std::int32_t n, BlockId after, std::vector<BlockId>& out);
  // Takes the first n pages of a free extent of at least `room` >= n pages; false, and nothing changed, where there is
  // none.
  bool allocate_run(std::int32_t n, std::int32_t room, std::vector<BlockId>& out);
  // The number of contiguous free pages directly after `block`.
  std::int32_t free_behind(BlockId block) const noexcept { return runs_.extent_at(block + 1); }
  void retain(BlockId block);
  void release(BlockId block);  // drops a reference; the last one frees the page
  std::int32_t references(BlockId block) const { return references_[static_cast<std::size_t>(block)]; }

  // Adds or drops the tree's reference, which is at most one and not part of references().
  void publish(BlockId block);
  void unpublish(BlockId block);
  bool published(BlockId block) const { return published_[static_cast<std::size_t>(block)] != 0; }
  void watch(IdleWatcher* watcher) noexcept { watcher_ = watcher; }
  void watch_publishing(PublishWatcher* watcher) noexcept { publish_watcher_ = watcher; }

  // Where the next table would begin: the first page that allocate(1, kNoBlock, out) would hand out; kNoBlock: nowhere.
  BlockId next_table() const noexcept;

  // A number that changes whenever pages are handed out or freed.
  std::uint64_t changes() const noexcept { return changes_; }

  void check_integrity() const;

 private:
  void hand_out(BlockId run, std::int32_t skip, std::int32_t n, std::vector<BlockId>& out);
  void set_idle(BlockId block, bool idle);

  std::vector<std::int32_t> references_;
  std::vector<std::uint8_t> published_;
  FreeExtents runs_;
  std::int32_t idle_ = 0;
  std::uint64_t changes_ = 0;
  IdleWatcher* watcher_ = nullptr;
  PublishWatcher* publish_watcher_ = nullptr;
  PageDevice* device_;
};

}  // namespace millrace::kv
