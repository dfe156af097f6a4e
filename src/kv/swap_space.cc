#include "kv/swap_space.h"

#include <algorithm>
#include <new>
#include <optional>

namespace millrace::kv {

SwapTicket::SwapTicket(SwapTicket&& other) noexcept
    : space_(other.space_),
      slots_(std::exchange(other.slots_, {})),
      window_slots_(std::exchange(other.window_slots_, {})),
      contents_(std::exchange(other.contents_, {})) {}

SwapTicket& SwapTicket::operator=(SwapTicket&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(slots_, other.slots_);
  std::swap(window_slots_, other.window_slots_);
  std::swap(contents_, other.contents_);
  return *this;
}

SwapTicket::~SwapTicket() { truncate(0); }

void SwapTicket::truncate(std::int64_t pages) {
  const std::int64_t behind = std::min(this->behind(), pages);
  contents_.n = std::min(contents_.n, pages);
  for (; std::ssize(slots_) > pages; slots_.pop_back()) space_->pages_.give(slots_.back());
  const std::int64_t windows = this->pages() - behind;
  contents_.n_window = std::min(contents_.n_window, windows);
  for (; std::ssize(window_slots_) > windows; window_slots_.pop_back()) {
    space_->window_pages_.give(window_slots_.back());
  }
}

void HostPieces::prepare(std::size_t n, std::size_t bytes, std::pmr::memory_resource& memory) {
  while (free_.size() < n) {
    free_.reserve(pieces_.size() + 1);
    pieces_.emplace_back(&memory);
    free_.push_back(static_cast<std::int32_t>(pieces_.size()) - 1);
  }
  for (std::size_t i = free_.size() - n; i < free_.size(); ++i) {
    auto& piece = pieces_[static_cast<std::size_t>(free_[i])];
    const std::size_t had = piece.size();
    piece.resize(bytes);
    allocated_ += bytes - had;
  }
}

std::vector<std::int32_t> HostPieces::take(std::size_t n) {
  std::vector<std::int32_t> taken(free_.end() - static_cast<std::ptrdiff_t>(n), free_.end());
  free_.resize(free_.size() - n);
  return taken;
}

void HostPieces::forget_free() {
  for (const std::int32_t piece : free_) {
    auto& memory = pieces_[static_cast<std::size_t>(piece)];
    allocated_ -= memory.size();
    memory.clear();
    memory.shrink_to_fit();
  }
}

SwapSpace::SwapSpace(std::size_t bytes, PageDevice& device)
    : device_(device),
      window_device_(device.windowed()),
      bytes_(bytes),
      page_bytes_(device.page_bytes()),
      window_bytes_(window_device_ == nullptr ? 0 : window_device_->page_bytes()) {}

std::optional<SwapTicket> SwapSpace::store(std::span<const BlockId> pages, std::span<const BlockId> window_pages) {
  const std::size_t bytes = slot_bytes();
  const auto taken = [&](std::size_t more, std::size_t more_window) {
    return (static_cast<std::size_t>(pages_.used()) + more) * bytes +
           (static_cast<std::size_t>(window_pages_.used()) + more_window) * window_bytes_;
  };
  if (taken(pages.size(), window_pages.size()) > bytes_) return std::nullopt;
  // What one kind does not use any more the other may need.
  const std::size_t wanted = pages.size() * bytes + window_pages.size() * window_bytes_;
  if (window_bytes_ > 0 && pages_.allocated() + window_pages_.allocated() + wanted > bytes_) {
    pages_.forget_free();
    window_pages_.forget_free();
  }
  try {
    pages_.prepare(pages.size(), bytes, device_.host_memory());
    window_pages_.prepare(window_pages.size(), window_bytes_, device_.host_memory());
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
  SwapTicket ticket(*this, pages_.take(pages.size()), window_pages_.take(window_pages.size()));
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::span<std::byte> slot = pages_.at(ticket.slots_[i]);
    device_.read(pages[i], slot.first(page_bytes_));
    if (bytes > page_bytes_) device_.read_companion(pages[i], slot.subspan(page_bytes_));
  }
  for (std::size_t i = 0; i < window_pages.size(); ++i) {
    window_device_->read(window_pages[i], window_pages_.at(ticket.window_slots_[i]));
  }
  if (!device_.intact()) return std::nullopt;
  return ticket;
}

SwapSpace::Slot SwapSpace::slot(const SwapTicket& ticket, std::size_t index) const {
  if (ticket.space_ == nullptr) {
    const std::size_t companion = device_.companion().page_bytes;
    const std::span<const std::byte> companions = ticket.contents_.companions;
    return {std::span(ticket.contents_.pages).subspan(index * page_bytes_, page_bytes_),
            companions.empty() ? companions : companions.subspan(index * companion, companion)};
  }
  const std::span<const std::byte> bytes = pages_.at(ticket.slots_[index]);
  return {bytes.first(page_bytes_), bytes.subspan(page_bytes_)};
}

// `index` counts from the first page that has a window page.
std::span<const std::byte> SwapSpace::window_slot(const SwapTicket& ticket, std::size_t index) const {
  if (ticket.space_ != nullptr) return window_pages_.at(ticket.window_slots_[index]);
  return std::span(ticket.contents_.window).subspan(index * window_bytes_, window_bytes_);
}

void SwapSpace::load(const SwapTicket& ticket, std::span<const BlockId> pages,
                     std::span<const BlockId> window_pages) const {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const auto [page, companion] = slot(ticket, i);
    device_.write(pages[i], page);
    if (!companion.empty()) device_.write_companion(pages[i], companion);
  }
  for (std::size_t i = 0; i < window_pages.size(); ++i) {
    window_device_->write(window_pages[i], window_slot(ticket, i));
  }
}

PageContents SwapSpace::contents(const SwapTicket& ticket, std::size_t pages) const {
  PageContents out;
  out.n = static_cast<std::int64_t>(pages);
  out.n_window = std::max<std::int64_t>(0, out.n - ticket.behind());
  out.pages.reserve(pages * page_bytes_);
  for (std::size_t i = 0; i < pages; ++i) {
    const auto [page, companion] = slot(ticket, i);
    out.pages.insert(out.pages.end(), page.begin(), page.end());
    out.companions.insert(out.companions.end(), companion.begin(), companion.end());
  }
  if (window_device_ == nullptr) out.n_window = 0;
  for (std::int64_t i = 0; i < out.n_window; ++i) {
    const auto window = window_slot(ticket, static_cast<std::size_t>(i));
    out.window.insert(out.window.end(), window.begin(), window.end());
  }
  return out;
}

}  // namespace millrace::kv
