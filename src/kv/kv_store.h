#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "backend/backend.h"
#include "kv/kv_groups.h"
#include "kv/page_device.h"
#include "kv/page_ranks.h"

namespace millrace::kv {

// The pages of all layers in device memory, ordered [layer][page], so that the pages of a sequence lie together within
// a layer. Pages of different groups have different sizes under the same numbers. Layers with a window may have a store
// of their own within it, by window page. Its size is fixed. The backend must outlive it.
class KvStore final : public PageDevice {
 public:
  // Allocates n_pages pages. kResourceExhausted names the size and the machine's limit; kInvalidArgument is that of
  // Backend::check_kv_format().
  // `window_pages`: of the layers with a window; 0: these have n_pages pages like the others, under the same numbers.
  static Result<KvStore> create(backend::Backend& backend, const KvGroups& groups, std::int32_t n_pages,
                                std::int32_t window_pages = 0);

  backend::KvPages layer(std::int64_t index) const noexcept {
    const Place& place = places_[static_cast<std::size_t>(index)];
    const KvStore& store = place.windowed ? *windowed_ : *this;
    const Layer& layer = store.layers_[place.index];
    return {store.memory_.address() + layer.offset, layer.format, index};
  }
  // Whether the layer's pages are window pages, with numbers of their own.
  bool windowed(std::int64_t index) const noexcept { return places_[static_cast<std::size_t>(index)].windowed; }
  KvStore* windowed() noexcept override { return windowed_.get(); }
  const KvStore* windowed() const noexcept { return windowed_.get(); }
  std::int64_t block_tokens() const noexcept { return block_tokens_; }
  std::size_t bytes() const noexcept { return memory_.size() + (windowed_ ? windowed_->bytes() : 0); }

  std::int32_t pages() const noexcept { return static_cast<std::int32_t>(n_pages_); }

  // Backs the pages [first, first + n) with memory, low numbers first; see DeviceBuffer::populate. Waits `pause` times
  // as long as each piece took. Any thread.
  void populate(BlockId first, std::int32_t n, double pause, const std::stop_token& stop) const noexcept;
  // Pages of a slice: with the memory of so many, in each layer, it makes sense to get and to give back memory at once.
  std::int32_t slice_pages() const noexcept;
  // See PageDevice. A part is a huge page of memory, whichever layers it has pages of.
  std::int32_t memory_parts() const noexcept override;
  void give_back(std::int32_t part, const std::function<bool(BlockId)>& kept) override;

  // Other ranks that have further heads of these pages, from now on; at most once.
  void share(const std::shared_ptr<PageRanks>& ranks) noexcept;

  // The number by which the other ranks know it.
  std::uint32_t number() const noexcept { return ranks_ ? ranks_->store() : 0; }

  // The bytes of a page for read() and write() are its keys and values of the first layer that is not windowed(), then
  // of the next, and so on, then those that other ranks have; page_bytes() in all, 0 where there is none.
  std::size_t page_bytes() const noexcept override {
    return page_bytes_ + (ranks_ ? ranks_->page_bytes(is_windowed_) : 0);
  }
  bool intact() const noexcept override { return ranks_ == nullptr || ranks_->intact(); }
  // This rank's alone.
  std::size_t own_page_bytes() const noexcept { return page_bytes_; }
  void copy(BlockId from, BlockId to) override;
  void read(BlockId page, std::span<std::byte> out) const override;
  void write(BlockId page, std::span<const std::byte> in) override;

 private:
  struct Layer {
    std::size_t offset = 0, page_bytes = 0;  // of its first page, in memory_
    backend::KvFormat format;
  };
  // Where a layer of the whole store is: its index among the layers of its kind.
  struct Place {
    std::size_t index = 0;
    bool windowed = false;
  };
  KvStore() = default;
  // Tells the other ranks of the parts before and up to this one.
  void give_back_of_ranks(std::int32_t part, const std::function<bool(BlockId)>& kept) const;
  static Result<KvStore> allocate(backend::Backend& backend, std::int64_t block_tokens, std::vector<Layer> layers,
                                  std::int32_t n_pages);
  backend::DeviceAddress page_of(const Layer& layer, BlockId page) const noexcept {
    return memory_.address() + layer.offset + static_cast<std::size_t>(page) * layer.page_bytes;
  }
  backend::Backend* backend_ = nullptr;
  std::vector<Layer> layers_;
  std::size_t page_bytes_ = 0, n_pages_ = 0;
  std::int64_t block_tokens_ = 0;
  backend::DeviceBuffer memory_;
  std::vector<Place> places_;          // by layer of the whole store
  std::unique_ptr<KvStore> windowed_;  // null: all layers have the same page numbers
  std::shared_ptr<PageRanks> ranks_;   // null: there are none
  bool is_windowed_ = false;           // it is another one's windowed_
};

}  // namespace millrace::kv
