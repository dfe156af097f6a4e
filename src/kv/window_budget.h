#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace millrace::kv {

// What a KV cache is for, and what its pages take.
struct KvBudget {
  std::size_t page_bytes = 0;         // of a page in the layers without a window, and of what drafters keep beside it
  std::size_t window_page_bytes = 0;  // of a window page; 0: no layer has a window
  std::int64_t block_tokens = 32;
  std::int64_t window = 0;       // the largest
  std::int64_t sequences = 1;    // that run at once
  std::int64_t step_tokens = 1;  // of a step
  std::int64_t max_length = 0;   // tokens of a sequence
};

struct KvSize {
  std::int64_t pages = 0;
  std::int32_t window_pages = 0;  // 0 where no layer has a window
  std::size_t bytes(const KvBudget& budget) const noexcept {
    return static_cast<std::size_t>(pages) * budget.page_bytes +
           static_cast<std::size_t>(window_pages) * budget.window_page_bytes;
  }
};

// Window pages with which no sequence ever waits for one: a whole window and two pages, for copies and drafts, for each
// that runs at once, and a step.
std::int64_t ample_window_pages(const KvBudget& budget) noexcept;

// Pages for so many tokens, and as many window pages, but no more than are ample.
KvSize size_for_tokens(const KvBudget& budget, std::int64_t tokens) noexcept;

// The most that so many bytes hold. Window pages are ample if they take no more than half of the bytes, else what half
// of the bytes holds, but a window and a step in any case, and never more than there are pages: so that long sequences
// find pages, and many short ones window pages. Where all layers have a window, pages take no memory: all that the
// sequences together can fill. kInvalidArgument naming kv-cache-memory-bytes and the least that is needed.
Result<KvSize> size_for_bytes(const KvBudget& budget, std::uint64_t bytes);

}  // namespace millrace::kv
