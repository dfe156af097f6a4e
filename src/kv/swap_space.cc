#include "kv/swap_space.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace millrace::kv {

SwapTicket::SwapTicket(SwapTicket&& other) noexcept
    : space_(other.space_),
      slots_(std::exchange(other.slots_, {})),
      contents_(std::move(other.contents_)),
      own_pages_(std::exchange(other.own_pages_, 0)) {}

SwapTicket& SwapTicket::operator=(SwapTicket&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(slots_, other.slots_);
  std::swap(contents_, other.contents_);
  std::swap(own_pages_, other.own_pages_);
  return *this;
}

SwapTicket::~SwapTicket() { truncate(0); }

void SwapTicket::truncate(std::int64_t pages) {
  own_pages_ = std::min(own_pages_, pages);
  while (std::ssize(slots_) > pages) {
    space_->free_.push_back(slots_.back());
    slots_.pop_back();
  }
}

SwapSpace::SwapSpace(std::size_t bytes, PageDevice& device)
    : device_(device), bytes_(bytes), page_bytes_(device.page_bytes()) {}

std::optional<SwapTicket> SwapSpace::store(std::span<const BlockId> pages) {
  if (std::ssize(pages) > total() - used()) return std::nullopt;
  const std::size_t bytes = slot_bytes();
  std::vector<std::int32_t> taken;
  try {
    while (free_.size() < pages.size()) {
      free_.reserve(slots_.size() + 1);
      slots_.emplace_back(&device_.host_memory());
      free_.push_back(static_cast<std::int32_t>(slots_.size()) - 1);
    }
    taken.assign(free_.end() - std::ssize(pages), free_.end());
    for (const std::int32_t slot : taken) slots_[static_cast<std::size_t>(slot)].resize(bytes);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::span<std::byte> slot = slots_[static_cast<std::size_t>(taken[i])];
    device_.read(pages[i], slot.first(page_bytes_));
    if (bytes > page_bytes_) device_.read_companion(pages[i], slot.subspan(page_bytes_));
  }
  free_.resize(free_.size() - pages.size());
  return SwapTicket(*this, std::move(taken));
}

SwapSpace::Slot SwapSpace::slot(const SwapTicket& ticket, std::size_t index) const {
  if (ticket.space_ == nullptr) {
    const std::size_t companion = device_.companion().page_bytes;
    const std::span<const std::byte> companions = ticket.contents_.companions;
    return {std::span(ticket.contents_.pages).subspan(index * page_bytes_, page_bytes_),
            companions.empty() ? companions : companions.subspan(index * companion, companion)};
  }
  const std::span<const std::byte> bytes = slots_[static_cast<std::size_t>(ticket.slots_[index])];
  return {bytes.first(page_bytes_), bytes.subspan(page_bytes_)};
}

void SwapSpace::load(const SwapTicket& ticket, std::span<const BlockId> pages) const {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const auto [page, companion] = slot(ticket, i);
    device_.write(pages[i], page);
    if (!companion.empty()) device_.write_companion(pages[i], companion);
  }
}

PageContents SwapSpace::contents(const SwapTicket& ticket, std::size_t pages) const {
  PageContents out;
  out.pages.reserve(pages * page_bytes_);
  for (std::size_t i = 0; i < pages; ++i) {
    const auto [page, companion] = slot(ticket, i);
    out.pages.insert(out.pages.end(), page.begin(), page.end());
    out.companions.insert(out.companions.end(), companion.begin(), companion.end());
  }
  return out;
}

}  // namespace millrace::kv
