#include "kv/window_budget.h"

#include <gtest/gtest.h>

#include "kv/paged_cache.h"

namespace millrace::kv {
namespace {

// One layer of six without a window, as in Gemma 3: 4 kB of a page there, 20 kB in the others.
constexpr KvBudget kMixed = {.page_bytes = 4096,
                             .window_page_bytes = 5 * 4096,
                             .block_tokens = 32,
                             .window = 1024,
                             .sequences = 8,
                             .step_tokens = 512,
                             .max_length = 32768};

TEST(WindowBudget, TokensGetPagesAndNoMoreWindowPagesThanEverAreNeeded) {
  EXPECT_EQ(size_for_tokens(kMixed, 3200).pages, 100);
  EXPECT_EQ(size_for_tokens(kMixed, 3200).window_pages, 100);
  EXPECT_EQ(size_for_tokens(kMixed, 320'000).pages, 10'000);
  EXPECT_EQ(size_for_tokens(kMixed, 320'000).window_pages, 8 * 35 + 16);
  EXPECT_EQ(size_for_tokens(kMixed, 32).window_pages, 1);
  KvBudget none = kMixed;
  none.window_page_bytes = 0;
  EXPECT_EQ(size_for_tokens(none, 3200).window_pages, 0);
}

TEST(WindowBudget, BytesAreDividedSoThatNeitherKindRunsShort) {
  for (const std::uint64_t bytes : {std::uint64_t{2} << 20, std::uint64_t{8} << 20, std::uint64_t{64} << 20}) {
    const KvSize size = size_for_bytes(kMixed, bytes).or_throw();
    EXPECT_LE(size.bytes(kMixed), bytes);
    EXPECT_GT(size.bytes(kMixed) + 4096, bytes);
    EXPECT_GE(size.pages, size.window_pages);
    EXPECT_LE(size.window_pages, ample_window_pages(kMixed));
    EXPECT_GE(size.window_pages, min_window_pages(1024, 32));
  }
  EXPECT_EQ(size_for_bytes(kMixed, std::uint64_t{64} << 20)->window_pages, ample_window_pages(kMixed));
  // With as much for each page as before, 8 MB held 341 pages: now a context of more than three times the length.
  EXPECT_GT(size_for_bytes(kMixed, std::uint64_t{8} << 20)->pages, 3 * 341);
}

TEST(WindowBudget, PagesWithoutMemoryAreAsManyAsSequencesCanFill) {
  KvBudget all = kMixed;
  all.page_bytes = 0;
  const KvSize size = size_for_bytes(all, std::uint64_t{8} << 20).or_throw();
  EXPECT_EQ(size.window_pages, (8 << 20) / (5 * 4096));
  EXPECT_EQ(size.pages, 8 * 1024);
}

TEST(WindowBudget, TooFewBytesNameTheLeast) {
  const auto short_of = size_for_bytes(kMixed, 100'000);
  ASSERT_FALSE(short_of);
  EXPECT_EQ(short_of.error().message, "kv-cache-memory-bytes is 100000: a window of 1024 tokens takes 860160");
  KvBudget none = kMixed;
  none.window_page_bytes = 0;
  EXPECT_EQ(size_for_bytes(none, 4095).error().message,
            "kv-cache-memory-bytes is 4095: a page of 32 tokens takes 4096");
}

}  // namespace
}  // namespace millrace::kv
