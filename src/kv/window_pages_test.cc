#include "kv/window_pages.h"

#include <gtest/gtest.h>

#include "kv/page_needs.h"
#include "kv/swapped_pages.h"
#include "kv/testing/stamped_device.h"
#include "kv/testing/tokens.h"

namespace millrace::kv {
namespace {

// 32 pages of 8 tokens, 12 window pages, a window of 16 tokens: a sequence of whole pages that goes on needs two.
class WindowPagesTest : public testing::Test {
 protected:
  static constexpr std::int64_t kBlockTokens = 8, kWindow = 16;

  // As an engine does it: in steps of 8 tokens, each published.
  BlockTable serve(const Tokens& tokens) {
    BlockTable table = cache.make_table();
    std::int64_t computed = cache.attach(table, cache.match({}, tokens), time);
    while (computed < size(tokens)) {
      const std::int64_t end = std::min(computed + kBlockTokens, size(tokens));
      table.release_behind(computed);
      EXPECT_TRUE(cache.reserve(table, computed, end));
      device.compute(table, StampedDevice::stamps({}, tokens), computed, end);
      computed = end;
      cache.publish({}, table, std::span(tokens).first(static_cast<std::size_t>(computed)), true, {}, time);
      EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps({}, tokens), computed), computed);
    }
    table.release_behind(computed);
    return table;
  }
  static std::int64_t size(const Tokens& tokens) { return std::ssize(tokens); }
  std::int64_t found(const Tokens& tokens) { return cache.match({}, tokens).tokens; }
  // Takes all window pages that are idle or free, and gives them back.
  void evict_all() {
    BlockTable all = cache.make_table();
    ASSERT_TRUE(cache.reserve(all, 0, cache.available() * kBlockTokens));
  }

  TimePoint time{};
  StampedDevice device{32, kBlockTokens, kWindow, 12};
  PagedCache cache{
      {.block_tokens = kBlockTokens, .pages = 32, .swap_bytes = 4096, .window = kWindow, .window_pages = 12},
      device,
      nullptr};
};

TEST_F(WindowPagesTest, ATableKeepsWhatTheWindowOfItsNextTokenSees) {
  const BlockTable table = serve(count(0, 80));
  EXPECT_EQ(table.blocks().size(), 10u);
  EXPECT_EQ(table.behind(), 8u);  // the token at 80 sees 65 to 80
  EXPECT_EQ(cache.use().window_used, 2);
  EXPECT_EQ(cache.use().window_cached, 8);
  BlockTable amid = cache.make_table();
  ASSERT_TRUE(cache.reserve(amid, 0, 16));
  amid.release_behind(15);
  EXPECT_EQ(amid.behind(), 0u);  // the token at 15 sees all
  amid.release_behind(22);
  EXPECT_EQ(amid.behind(), 0u);  // that at 22 sees 7 to 22
  amid.release_behind(23);
  EXPECT_EQ(amid.behind(), 1u);
}

TEST_F(WindowPagesTest, LongSequencesDoNotNeedMoreThanTheirWindow) {
  std::vector<BlockTable> tables;
  for (int i = 0; i < 3; ++i) tables.push_back(serve(count(1000 * i, 80)));
  EXPECT_EQ(cache.use().window_used, 6);
  EXPECT_EQ(cache.use().used, 30);
  EXPECT_GT(cache.window()->evicted(), 0);
}

TEST_F(WindowPagesTest, AMatchEndsWhereItsWindowIsThere) {
  serve(count(0, 80));
  EXPECT_EQ(found(count(0, 80)), 80);
  EXPECT_EQ(found(count(0, 43) + count(500, 4)), 43);
  BlockTable others = cache.make_table();
  ASSERT_TRUE(cache.reserve(others, 0, 7 * kBlockTokens));  // two are free: the first five of the sequence go
  EXPECT_EQ(found(count(0, 80)), 80);
  EXPECT_EQ(found(count(0, 43) + count(500, 4)), 0);
  EXPECT_EQ(found(count(0, 56) + count(500, 4)), 56);  // sees from 41
  others.truncate(0);
  evict_all();
  EXPECT_EQ(found(count(0, 80)), 0);
  EXPECT_EQ(cache.use().cached, 10);  // the pages are there, and of no use
}

// Where windows have only passed is forgotten first, unless somebody came back to it.
TEST_F(WindowPagesTest, WhatAMatchFoundIsKeptForLonger) {
  serve(count(0, 40));
  serve(count(0, 24) + count(700, 8));
  BlockTable others = cache.make_table();
  ASSERT_TRUE(cache.reserve(others, 0, (cache.use().window_free + 1) * kBlockTokens));
  EXPECT_EQ(found(count(0, 24) + count(800, 8)), 24);
  EXPECT_EQ(found(count(0, 40)), 40);
  EXPECT_EQ(found(count(0, 8) + count(800, 8)), 0);  // nobody came back there
}

// The pages of a sequence that is computed again take the places of those that had lost their window pages.
TEST_F(WindowPagesTest, ASecondSequenceBringsAPrefixBack) {
  const Tokens tokens = count(0, 40);
  serve(tokens);
  evict_all();
  ASSERT_EQ(found(tokens), 0);
  serve(tokens);
  EXPECT_EQ(found(tokens), 40);
  EXPECT_EQ(cache.use().published, 5);
  const BlockTable* none = nullptr;
  cache.check_integrity(std::span(&none, 0));
}

TEST_F(WindowPagesTest, ATableGoesBackToWhereItsWindowIs) {
  BlockTable table = serve(count(0, 80));
  EXPECT_EQ(cache.rewind(table, 50), 50);  // published, and nobody took them
  EXPECT_EQ(table.behind(), 4u);
  EXPECT_EQ(cache.use().window_used, 3);
  EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps({}, count(0, 80)), 50), 50);
  evict_all();
  EXPECT_EQ(cache.rewind(table, 49), 49);
  EXPECT_EQ(cache.rewind(table, 46), 0);  // sees 31; 32 to 39 are still its own, those before are gone
  EXPECT_TRUE(table.blocks().empty());
}

TEST_F(WindowPagesTest, SwapSpaceHoldsNoMoreThanIsNeeded) {
  const Tokens tokens = count(0, 80);
  BlockTable table = serve(tokens);
  auto ticket = cache.swap_out(table, 80);
  ASSERT_TRUE(ticket);
  EXPECT_EQ(ticket->pages(), 10);
  EXPECT_EQ(ticket->behind(), 8);
  cache.clear();
  BlockTable others = cache.make_table();
  ASSERT_TRUE(cache.reserve(others, 0, 10 * kBlockTokens));
  EXPECT_EQ(needed(cache, *ticket, 80), (PageCount{.pages = 10, .window = 2}));
  ASSERT_TRUE(cache.swap_in(*ticket, table));
  EXPECT_EQ(table.behind(), 8u);
  EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps({}, tokens), 80), 80);
}

TEST_F(WindowPagesTest, ATicketGoesBackWithinItsWindowOnly) {
  BlockTable table = serve(count(0, 80));
  const PageContents contents = cache.export_pages(table, 80).value();
  EXPECT_EQ(contents.n_window, 2);
  EXPECT_TRUE(check_contents(cache, contents, 80));
  SwapTicket near(contents), far(contents);
  EXPECT_EQ(rewind(cache, near, 79), 79);
  EXPECT_EQ(near.pages(), 10);
  EXPECT_EQ(rewind(cache, far, 78), 0);  // its token sees 63
  EXPECT_EQ(far.pages(), 0);
  PageContents lacking = contents;
  lacking.n_window = 1;
  lacking.window.resize(64);
  const auto refused = check_contents(cache, lacking, 80);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "64 bytes of window pages: they take 128");
}

TEST_F(WindowPagesTest, PagesAndWindowPagesRunOutApart) {
  BlockTable table = serve(count(0, 80));
  EXPECT_EQ(cache.room(), (PageCount{.pages = 22, .window = 10}));
  EXPECT_EQ(cache.available(), 10);
  EXPECT_EQ(releasable(cache, table), (PageCount{.pages = 10, .window = 2}));
  BlockTable other = cache.make_table();
  EXPECT_FALSE(cache.reserve(other, 0, 11 * kBlockTokens));
  EXPECT_TRUE(other.blocks().empty());
  EXPECT_TRUE(cache.reserve(other, 0, 10 * kBlockTokens));
}

// Pages and window pages that are kept: in use, and behind those.
TEST_F(WindowPagesTest, GivesBackTheMemoryOfBothKinds) {
  std::vector<std::pair<std::int32_t, std::int32_t>> given;  // parts by device
  std::vector<BlockId> kept;
  device.on_give_back = [&](std::int32_t part, const std::function<bool(BlockId)>& keeps) {
    given.emplace_back(0, part);
    for (BlockId page = 0; page < 32; ++page) EXPECT_FALSE(keeps(page)) << page;
  };
  static_cast<StampedDevice*>(device.windowed())->on_give_back = [&](std::int32_t part, const auto& keeps) {
    given.emplace_back(1, part);
    for (BlockId number = 0; number < 12; ++number) {
      if (keeps(number)) kept.push_back(number);
    }
  };
  ASSERT_EQ(cache.memory_parts(), 2);
  {
    BlockTable table = serve(count(0, 80));
    cache.give_back(1);
    EXPECT_EQ(kept.size(), 11u);  // ten in use, and the next one
  }
  EXPECT_EQ(cache.shrink(0, 4, time), 8);  // four of each kind
  EXPECT_EQ(cache.shrink(0, 100, time), 6);
  EXPECT_EQ(cache.use().window_free, 12);
  cache.give_back(0);
  cache.give_back(1);
  EXPECT_EQ(given, (std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 0}, {0, 0}, {1, 0}}));
}

TEST_F(WindowPagesTest, CountsBytesOfBothKinds) {
  BlockTable table = serve(count(0, 80));
  EXPECT_EQ(cache.use().used_bytes(), (10 + 2) * 64u);
  EXPECT_DOUBLE_EQ(cache.use().used_share(), 12.0 / 44.0);
}

}  // namespace
}  // namespace millrace::kv
