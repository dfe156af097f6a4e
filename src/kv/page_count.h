#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::kv {

// A number of pages, and of window pages (kv/window_pages.h), which are 0 where no layer has a window.
struct PageCount {
  std::int32_t pages = 0, window = 0;

  PageCount& operator+=(const PageCount& other) noexcept {
    pages += other.pages;
    window += other.window;
    return *this;
  }
  PageCount& operator-=(const PageCount& other) noexcept {
    pages -= other.pages;
    window -= other.window;
    return *this;
  }
  friend PageCount operator+(PageCount a, const PageCount& b) noexcept { return a += b; }
  friend PageCount operator-(PageCount a, const PageCount& b) noexcept { return a -= b; }
  bool operator==(const PageCount&) const = default;

  bool fits_in(const PageCount& available) const noexcept {
    return pages <= available.pages && window <= available.window;
  }
  bool any() const noexcept { return pages > 0 || window > 0; }
  // Whether having these helps where `required` does not fit in `available`.
  bool relieves(const PageCount& required, const PageCount& available) const noexcept {
    return (pages > 0 && required.pages > available.pages) || (window > 0 && required.window > available.window);
  }
};

}  // namespace millrace::kv
