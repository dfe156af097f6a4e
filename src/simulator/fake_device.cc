#include "simulator/fake_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/check.h"

namespace millrace::simulator {

FakeDevice::FakeDevice(std::int32_t pages, std::int64_t block_tokens, std::uint64_t companion_key,
                       std::int32_t window_pages)
    : pages_(pages),
      block_tokens_(block_tokens),
      companion_key_(companion_key),
      stamps_(static_cast<std::size_t>(pages) * static_cast<std::size_t>(block_tokens)),
      windowed_(window_pages > 0 ? std::make_unique<FakeDevice>(window_pages, block_tokens) : nullptr) {
  if (windowed_) windowed_->is_windowed_ = true;
}

void FakeDevice::keep(const FakeHeads& heads) {
  kept_ = heads.kept();
  parts_ = {heads.bytes};
  if (windowed_) windowed_->keep(heads);
}

void FakeDevice::share(std::shared_ptr<kv::PageRanks> others, const std::vector<FakeHeads>& heads) {
  parts_.clear();
  for (const FakeHeads& of_rank : heads) parts_.push_back(of_rank.bytes);
  if (windowed_) windowed_->share(others, heads);
  others_ = std::move(others);
}

void FakeDevice::report_spoiled(const OnSpoiled& on_spoiled) {
  on_spoiled_ = on_spoiled;
  if (windowed_) windowed_->report_spoiled(on_spoiled);
}

std::size_t FakeDevice::page_bytes() const noexcept {
  const std::size_t of_slot = parts_.empty() ? sizeof(Stamp) : parts_[0].size();
  return static_cast<std::size_t>(block_tokens_) * of_slot + (others_ ? others_->page_bytes(is_windowed_) : 0);
}

std::span<std::byte> FakeDevice::bytes_of(kv::BlockId id) const {
  return std::as_writable_bytes(std::span(page(id), static_cast<std::size_t>(block_tokens_)));
}

void FakeDevice::copy(kv::BlockId from, kv::BlockId to) {
  if (others_) others_->copy(is_windowed_, from, to);
  std::ranges::copy(bytes_of(from), bytes_of(to).begin());
}

void FakeDevice::read(kv::BlockId id, std::span<std::byte> out) const {
  const std::span<const std::byte> all = bytes_of(id);
  if (parts_.empty()) return void(std::ranges::copy(all, out.begin()));
  std::size_t n = 0;
  for (std::size_t slot = 0; slot < all.size(); slot += sizeof(Stamp)) {
    for (const std::size_t byte : parts_[0]) out[n++] = all[slot + byte];
  }
  if (others_) others_->read(is_windowed_, id, out.subspan(n));
}

void FakeDevice::write(kv::BlockId id, std::span<const std::byte> in) {
  const std::span<std::byte> all = bytes_of(id);
  if (parts_.empty()) return void(std::ranges::copy(in, all.begin()));
  std::size_t n = 0;
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    if (rank == 1 && others_) others_->write(is_windowed_, id, in.subspan(n));
    for (std::size_t slot = 0; slot < all.size(); slot += sizeof(Stamp)) {
      for (const std::size_t byte : parts_[rank]) all[slot + byte] = in[n++];
    }
  }
}

kv::PageCompanion FakeDevice::companion() const noexcept {
  return {companion_key_, companion_key_ == 0 ? 0 : sizeof(std::uint64_t)};
}

void FakeDevice::read_companion(kv::BlockId id, std::span<std::byte> out) const {
  std::uint64_t hash = companion_key_;
  for (std::int64_t i = 0; i < block_tokens_; ++i) hash += page(id)[i] * weight_of(i);
  std::memcpy(out.data(), &hash, sizeof(hash));
}

void FakeDevice::write_companion(kv::BlockId id, std::span<const std::byte> in) {
  std::array<std::byte, sizeof(std::uint64_t)> expected{};
  read_companion(id, expected);
  CHECK(std::ranges::equal(in, expected));
}

void* FakeDevice::HostMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (fails && fails()) throw std::bad_alloc();
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

void FakeDevice::HostMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
}

Stamp* FakeDevice::slot(std::span<const kv::BlockId> pages, std::int64_t position) const {
  const auto index = static_cast<std::size_t>(position / block_tokens_);
  CHECK_LT(index, pages.size());
  return page(pages[index]) + position % block_tokens_;
}

void FakeDevice::spoil_at(std::span<const kv::BlockId> pages, std::int64_t position) {
  spoil(pages[static_cast<std::size_t>(position / block_tokens_)], position % block_tokens_);
}

void FakeDevice::spoil(kv::BlockId id, std::int64_t slot) {
  if (slot < 0) {
    std::fill_n(page(id), block_tokens_, kSpoiled);
  } else {
    page(id)[slot] = kSpoiled;
  }
  if (on_spoiled_) on_spoiled_(is_windowed_, id, slot);
}

void FakeDevice::spoil_all() {
  std::ranges::fill(stamps_, kSpoiled);
  if (windowed_) windowed_->spoil_all();
}

}  // namespace millrace::simulator
