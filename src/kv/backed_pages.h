#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kv/kv_store.h"

namespace millrace::kv {

// The pages of a store, whose memory follows their use once follow() was called: a thread gets memory for what is
// handed out next, so that a step seldom waits for the system. PageDevice calls are for the engine's thread.
class BackedPages final : public PageDevice {
 public:
  explicit BackedPages(KvStore& store)
      : store_(store),
        wanted_(slice_of(store.pages() - 1) + 1, false),
        windowed_(store.windowed() == nullptr ? nullptr : std::make_unique<BackedPages>(*store.windowed())) {}

  // From now on: gets memory for the slice that the next table begins in, and for what comes behind the pages in use.
  void follow();
  // Gets memory for all pages, in the background, and keeps it: give_back() does nothing afterwards.
  void populate();
  void wait_populated();  // until that is done

  PageDevice* windowed() noexcept override { return windowed_.get(); }
  std::size_t page_bytes() const noexcept override { return store_.page_bytes(); }
  bool intact() const noexcept override { return store_.intact(); }
  void copy(BlockId from, BlockId to) override { store_.copy(from, to); }
  void read(BlockId page, std::span<std::byte> out) const override { store_.read(page, out); }
  void write(BlockId page, std::span<const std::byte> in) override { store_.write(page, in); }
  void taken(BlockId first, std::int32_t n, BlockId next) override;
  std::int32_t memory_parts() const noexcept override { return populated_ ? 0 : store_.memory_parts(); }
  // Part 0 also forgets for which slices without a kept page there is memory.
  void give_back(std::int32_t part, const std::function<bool(BlockId)>& kept) override;

 private:
  std::size_t slice_of(BlockId page) const noexcept {
    return static_cast<std::size_t>(std::max(page, 0) / store_.slice_pages());
  }
  void want(BlockId page);
  void run(const std::stop_token& stop);

  KvStore& store_;
  std::vector<bool> wanted_;               // by slice: it has been queued, and not been given back since
  std::unique_ptr<BackedPages> windowed_;  // of the store's windowed()
  bool populated_ = false, following_ = false;
  std::mutex mutex_;  // guards queue_
  std::condition_variable_any wake_;
  std::deque<std::size_t> queue_;  // slices to get memory for
  std::jthread thread_;            // last: it ends before what it uses
};

}  // namespace millrace::kv
