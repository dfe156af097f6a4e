#include "kv/swap_space.h"

#include <new>
#include <optional>
#include <utility>

namespace millrace::kv {

SwapTicket::SwapTicket(SwapTicket&& other) noexcept : space_(other.space_), slots_(std::exchange(other.slots_, {})) {}

SwapTicket& SwapTicket::operator=(SwapTicket&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(slots_, other.slots_);
  return *this;
}

SwapTicket::~SwapTicket() { space_->free_.insert(space_->free_.end(), slots_.rbegin(), slots_.rend()); }

SwapSpace::SwapSpace(std::size_t bytes, PageDevice& device)
    : device_(device), page_bytes_(device.page_bytes()), total_(static_cast<std::int64_t>(bytes / page_bytes_)) {
  slots_.reserve(static_cast<std::size_t>(total_));
  for (std::int64_t slot = 0; slot < total_; ++slot) slots_.emplace_back(&device.host_memory());
  for (std::int64_t slot = total_ - 1; slot >= 0; --slot) free_.push_back(static_cast<std::int32_t>(slot));
}

std::optional<SwapTicket> SwapSpace::store(std::span<const BlockId> pages) {
  if (pages.size() > free_.size()) return std::nullopt;
  std::vector<std::int32_t> taken(free_.end() - static_cast<std::ptrdiff_t>(pages.size()), free_.end());
  try {
    for (const std::int32_t slot : taken) slots_[static_cast<std::size_t>(slot)].resize(page_bytes_);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < pages.size(); ++i) device_.read(pages[i], slots_[static_cast<std::size_t>(taken[i])]);
  free_.resize(free_.size() - pages.size());
  return SwapTicket(*this, std::move(taken));
}

void SwapSpace::load(const SwapTicket& ticket, std::span<const BlockId> pages) const {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    device_.write(pages[i], slots_[static_cast<std::size_t>(ticket.slots_[i])]);
  }
}

}  // namespace millrace::kv
