#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kv/page_device.h"
#include "kv/page_ranks.h"
#include "simulator/fake_heads.h"

namespace millrace::simulator {

// Pages of stamps instead of keys and values. A slot that was never written, or was freed since, holds another value
// than any sequence expects. Where there is a window, window pages hold the stamps once more.
class FakeDevice final : public kv::PageDevice {
 public:
  // A page's companion is a hash of its stamps and `companion_key`; without one where that is 0.
  FakeDevice(std::int32_t pages, std::int64_t block_tokens, std::uint64_t companion_key = 0,
             std::int32_t window_pages = 0);
  // From now on it is a rank's behind rank 0: it keeps the bytes of its heads, and no others.
  void keep(const FakeHeads& heads);
  // From now on it is that of rank 0 of several, by number: the bytes of a page are those of its heads, then what the
  // others have. It keeps all of every stamp, to compare the others with (see FakeRanks::check()).
  void share(std::shared_ptr<kv::PageRanks> others, const std::vector<FakeHeads>& heads);
  // Gets each slot that is spoiled: whether of a window page, the page, and the slot, -1: all of the page.
  using OnSpoiled = std::function<void(bool windowed, kv::BlockId page, std::int64_t slot)>;
  void report_spoiled(const OnSpoiled& on_spoiled);

  FakeDevice* windowed() noexcept override { return windowed_.get(); }
  std::size_t page_bytes() const noexcept override;
  bool intact() const noexcept override { return others_ == nullptr || others_->intact(); }
  void copy(kv::BlockId from, kv::BlockId to) override;
  void read(kv::BlockId page, std::span<std::byte> out) const override;
  void write(kv::BlockId page, std::span<const std::byte> in) override;
  kv::PageCompanion companion() const noexcept override;
  void read_companion(kv::BlockId page, std::span<std::byte> out) const override;
  void write_companion(kv::BlockId page, std::span<const std::byte> in) override;  // CHECKs that it is the page's
  void freed(kv::BlockId id) override { spoil(id, -1); }
  std::pmr::memory_resource& host_memory() noexcept override { return host_memory_; }
  // Allocations of host memory fail whenever `when` returns true.
  void fail_host_memory(std::function<bool()> when) { host_memory_.fails = std::move(when); }

  Stamp at(std::span<const kv::BlockId> pages, std::int64_t position) const { return *slot(pages, position); }
  void put(std::span<const kv::BlockId> pages, std::int64_t position, Stamp stamp) {
    *slot(pages, position) = stamp & kept_;
  }
  void spoil_at(std::span<const kv::BlockId> pages, std::int64_t position);
  void spoil(kv::BlockId page, std::int64_t slot);                    // -1: all slots
  void spoil_all();                                                   // reports nothing
  std::span<const Stamp> stamps() const noexcept { return stamps_; }  // of one page after the other
  std::int64_t block_tokens() const noexcept { return block_tokens_; }
  std::int32_t pages() const noexcept { return pages_; }

 private:
  struct HostMemory final : std::pmr::memory_resource {
    std::function<bool()> fails;
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  };
  Stamp* page(kv::BlockId id) const {
    return const_cast<Stamp*>(stamps_.data()) + static_cast<std::int64_t>(id) * block_tokens_;
  }
  Stamp* slot(std::span<const kv::BlockId> pages, std::int64_t position) const;
  std::span<std::byte> bytes_of(kv::BlockId id) const;

  std::int32_t pages_;
  std::int64_t block_tokens_;
  std::uint64_t companion_key_;
  std::vector<Stamp> stamps_;
  HostMemory host_memory_;
  Stamp kept_ = ~Stamp{0};
  // Which bytes of each slot its own part of a page has, and then the parts of other ranks. Of one rank alone empty:
  // all.
  std::vector<std::vector<std::size_t>> parts_;
  std::shared_ptr<kv::PageRanks> others_;  // null: there are none
  OnSpoiled on_spoiled_;
  bool is_windowed_ = false;  // it is another one's windowed_
  std::unique_ptr<FakeDevice> windowed_;
};

}  // namespace millrace::simulator
