#pragma once

#include <cstdint>
#include <vector>

#include "kv/free_extents.h"
#include "kv/page_device.h"

namespace millrace::kv {

// Hears when the only user of a published page is the tree (idle), and when it is not any more.
class IdleWatcher {
 public:
  virtual ~IdleWatcher() = default;
  virtual void idle_changed(BlockId block, bool idle) = 0;
};

// The pages of the KV cache as numbers: which are free, and how many users each of the others has. Host logic only;
// owned by the engine thread. free() + used() == total() always; check_integrity() walks and proves it.
class BlockPool {
 public:
  // The device, where there is one, hears which pages were freed.
  explicit BlockPool(std::int32_t total, PageDevice* device = nullptr);

  std::int32_t total() const noexcept { return static_cast<std::int32_t>(references_.size()); }
  std::int32_t free() const noexcept { return runs_.pages(); }
  std::int32_t used() const noexcept { return total() - free(); }
  std::int32_t idle() const noexcept { return idle_; }  // of those used: published, and in no table

  // Appends n blocks with one reference each to `out`; false, and nothing changed, when fewer are free. They are
  // neighbours where that is possible: first those behind `after` (the page before them in the sequence, or kNoBlock),
  // since a decode step reads neighbours as one stream; else a quarter into the longest free run, so that both the
  // sequence before it and the new one can grow in place.
  bool allocate(std::int32_t n, BlockId after, std::vector<BlockId>& out);
  // Takes the first n of at least `room` free neighbours, one extent, or nothing; n <= room.
  bool allocate_run(std::int32_t n, std::int32_t room, std::vector<BlockId>& out);
  std::int32_t free_behind(BlockId block) const noexcept { return runs_.extent_at(block + 1); }  // neighbours
  void retain(BlockId block);
  void release(BlockId block);  // frees it when it was the last reference
  std::int32_t references(BlockId block) const { return references_[static_cast<std::size_t>(block)]; }

  // The tree's reference: at most one, and counted apart.
  void publish(BlockId block);
  void unpublish(BlockId block);
  bool published(BlockId block) const { return published_[static_cast<std::size_t>(block)] != 0; }
  void watch(IdleWatcher* watcher) noexcept { watcher_ = watcher; }

  // Another number after pages were handed out, or given back by anybody.
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
  PageDevice* device_;
};

}  // namespace millrace::kv
