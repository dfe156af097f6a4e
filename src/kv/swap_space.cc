#include "kv/swap_space.h"

#include <new>
#include <optional>
#include <utility>

namespace millrace::kv {

SwapTicket::SwapTicket(SwapTicket&& other) noexcept
    : space_(other.space_),
      slots_(std::exchange(other.slots_, {})),
      contents_(std::exchange(other.contents_, {})),
      own_pages_(std::exchange(other.own_pages_, 0)) {}

SwapTicket& SwapTicket::operator=(SwapTicket&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(slots_, other.slots_);
  std::swap(contents_, other.contents_);
  std::swap(own_pages_, other.own_pages_);
  return *this;
}

SwapTicket::~SwapTicket() {
  if (space_ != nullptr) space_->free_.insert(space_->free_.end(), slots_.rbegin(), slots_.rend());
}

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

std::span<const std::byte> SwapSpace::page(const SwapTicket& ticket, std::size_t index) const {
  if (ticket.space_ == nullptr) return std::span(ticket.contents_).subspan(index * page_bytes_, page_bytes_);
  return slots_[static_cast<std::size_t>(ticket.slots_[index])];
}

void SwapSpace::load(const SwapTicket& ticket, std::span<const BlockId> pages) const {
  for (std::size_t i = 0; i < pages.size(); ++i) device_.write(pages[i], page(ticket, i));
}

std::vector<std::byte> SwapSpace::contents(const SwapTicket& ticket, std::size_t pages) const {
  std::vector<std::byte> out;
  out.reserve(pages * page_bytes_);
  for (std::size_t i = 0; i < pages; ++i) {
    const auto bytes = page(ticket, i);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

}  // namespace millrace::kv
