#include "kv/paged_cache.h"

#include <gtest/gtest.h>

#include "kv/testing/stamped_device.h"
#include "kv/testing/tokens.h"

namespace millrace::kv {
namespace {

class PagedCacheTest : public testing::Test {
 protected:
  static constexpr std::int64_t kBlockTokens = 8;

  // Computes all of the tokens that are not published yet.
  BlockTable serve(const Tokens& tokens, bool partial = true, const Retention& retention = {},
                   const PrefixScope& scope = {}) {
    BlockTable table = cache.make_table();
    const std::int64_t computed = cache.attach(table, cache.match(scope, tokens), time);
    EXPECT_TRUE(cache.reserve(table, computed, size(tokens)));
    device.compute(table, StampedDevice::stamps(scope, tokens), computed, size(tokens));
    cache.publish(scope, table, tokens, partial, retention, time);
    return table;
  }
  std::int64_t found(const Tokens& tokens, const PrefixScope& scope = {}) {
    const PrefixMatch match = cache.match(scope, tokens);
    BlockTable table = cache.make_table();
    EXPECT_EQ(cache.attach(table, match, time), match.tokens);
    EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps(scope, tokens), match.tokens), match.tokens);
    return match.tokens;
  }
  static std::int64_t size(const Tokens& tokens) { return static_cast<std::int64_t>(tokens.size()); }

  TimePoint time{};
  StampedDevice device{16, kBlockTokens};
  PagedCache cache{{.block_tokens = kBlockTokens, .pages = 16, .swap_bytes = 1024}, device, nullptr};
};

TEST_F(PagedCacheTest, FindsWholePagesAndABeginningOfAPage) {
  serve(count(0, 20));
  EXPECT_EQ(found(count(0, 20)), 20);
  EXPECT_EQ(found(count(0, 30)), 20);
  EXPECT_EQ(found(count(0, 13)), 13);
  EXPECT_EQ(found(count(0, 18) + count(90, 4)), 18);
  EXPECT_EQ(found(count(0, 5) + count(90, 4)), 5);
  EXPECT_EQ(found(count(1, 9)), 0);
}

TEST_F(PagedCacheTest, KeepsScopesApart) {
  serve(count(0, 16), true, {}, {.adapter = "1", .salt = "a"});
  EXPECT_EQ(found(count(0, 16), {.adapter = "1", .salt = "a"}), 16);
  EXPECT_EQ(found(count(0, 16), {.adapter = "1", .salt = "b"}), 0);
  EXPECT_EQ(found(count(0, 16), {.adapter = "2", .salt = "a"}), 0);
  EXPECT_EQ(found(count(0, 16)), 0);
}

TEST_F(PagedCacheTest, SharesWholePagesAndCopiesAPartialOne) {
  const BlockTable first = serve(count(0, 20));
  const BlockTable second = serve(count(0, 20) + count(50, 2));
  EXPECT_EQ(second.blocks()[1], first.blocks()[1]);
  EXPECT_NE(second.blocks()[2], first.blocks()[2]);
  EXPECT_EQ(cache.counters().copied_pages, 1);
  EXPECT_EQ(cache.use().used, 4);
  EXPECT_EQ(cache.counters().hit_tokens, 20);
}

// What is published of a page never changes; what is behind it may be written by its one sequence.
TEST_F(PagedCacheTest, AppendsInPlaceBehindWhatIsPublished) {
  BlockTable table = serve(count(0, 12));
  EXPECT_EQ(cache.needed(table, 12, 16), 0);
  EXPECT_EQ(cache.needed(table, 11, 16), 1);  // position 11 is published
  const BlockId page = table.blocks()[1];
  ASSERT_TRUE(cache.reserve(table, 12, 16));
  EXPECT_EQ(table.blocks()[1], page);
  device.compute(table, StampedDevice::stamps({}, count(0, 11) + count(70, 5)), 12, 16);
  EXPECT_EQ(found(count(0, 12)), 12);
  ASSERT_TRUE(cache.reserve(table, 11, 16));
  EXPECT_NE(table.blocks()[1], page);
}

TEST_F(PagedCacheTest, CopiesAPageThatAForkWritesInto) {
  const BlockTable parent = serve(count(0, 12), false);
  BlockTable fork = cache.make_table();
  fork.share(parent.blocks());
  EXPECT_EQ(cache.needed(fork, 12, 17), 2);
  ASSERT_TRUE(cache.reserve(fork, 12, 17));
  const Tokens tokens = count(0, 12) + count(60, 5);
  device.compute(fork, StampedDevice::stamps({}, tokens), 12, 17);
  EXPECT_EQ(device.first_wrong(fork, StampedDevice::stamps({}, tokens), 17), 17);
  EXPECT_EQ(device.first_wrong(parent, StampedDevice::stamps({}, count(0, 12)), 12), 12);
  EXPECT_EQ(cache.needed(parent, 12, 13), 0);  // its own again
}

TEST_F(PagedCacheTest, ExtendsAPartialPageByASecondSequencesWholeOne) {
  serve(count(0, 12));
  serve(count(0, 16));
  EXPECT_EQ(cache.use().published, 2);
  EXPECT_EQ(found(count(0, 16)), 16);
}

TEST_F(PagedCacheTest, PublishesASecondCopyNever) {
  BlockTable first = cache.make_table(), second = cache.make_table();
  const Tokens tokens = count(0, 16);
  for (BlockTable* table : {&first, &second}) {
    ASSERT_TRUE(cache.reserve(*table, 0, 16));
    device.compute(*table, StampedDevice::stamps({}, tokens), 0, 16);
  }
  cache.publish({}, first, tokens, false, {}, time);
  cache.publish({}, second, tokens, false, {}, time);
  EXPECT_EQ(cache.use().published, 2);
  second.truncate(0);
  EXPECT_EQ(cache.use().free, 14);
}

// The second sequence stands on its own copies of pages that the first one published and left.
TEST_F(PagedCacheTest, EvictsIdlePagesUnderPagesInUse) {
  BlockTable first = cache.make_table(), second = cache.make_table();
  const Tokens tokens = count(0, 24);
  for (BlockTable* table : {&first, &second}) {
    ASSERT_TRUE(cache.reserve(*table, 0, 24));
    device.compute(*table, StampedDevice::stamps({}, tokens), 0, 24);
  }
  cache.publish({}, first, count(0, 16), false, {}, time);
  cache.publish({}, second, tokens, false, {}, time);
  first.truncate(0);
  EXPECT_EQ(cache.use().cached, 2);
  EXPECT_EQ(cache.available(), 13);
  BlockTable third = cache.make_table();
  EXPECT_TRUE(cache.reserve(third, 0, 13 * kBlockTokens));
  EXPECT_EQ(cache.use().published, 0);
  const BlockTable* const tables[] = {&first, &second, &third};
  cache.check_integrity(tables);
  third.truncate(0);
  cache.publish({}, second, tokens, true, {}, time);  // from its own pages now
  EXPECT_EQ(found(tokens), 24);
}

TEST_F(PagedCacheTest, EvictsTheLeastRecentlyUsedFirst) {
  for (int i = 0; i < 3; ++i) {
    serve(count(100 * i, 16));
    time += std::chrono::seconds(1);
  }
  found(count(0, 16));
  BlockTable large = cache.make_table();
  ASSERT_TRUE(cache.reserve(large, 0, 11 * kBlockTokens));  // one page too many
  EXPECT_EQ(cache.match({}, count(0, 16)).tokens, 16);
  EXPECT_EQ(cache.match({}, count(100, 16)).tokens, 8);  // the end first
  EXPECT_EQ(cache.match({}, count(200, 16)).tokens, 16);
}

TEST_F(PagedCacheTest, EvictsExpiredThenLowPriorityFirst) {
  serve(count(0, 16), true, {.priority = 10});
  serve(count(100, 16), true, {.priority = 90, .time_to_live = std::chrono::milliseconds(500)});
  serve(count(200, 16), true, {.priority = 50});
  time += std::chrono::seconds(1);
  serve(count(300, 16), true, {.priority = 0});
  BlockTable large = cache.make_table();
  ASSERT_TRUE(cache.reserve(large, 0, 10 * kBlockTokens));
  EXPECT_EQ(cache.match({}, count(100, 16)).tokens, 0);  // expired
  EXPECT_EQ(cache.match({}, count(300, 16)).tokens, 16);
  ASSERT_TRUE(cache.reserve(large, 0, 12 * kBlockTokens));
  EXPECT_EQ(cache.match({}, count(300, 16)).tokens, 0);  // lowest priority, though last used
  EXPECT_EQ(cache.match({}, count(0, 16)).tokens, 16);
}

TEST_F(PagedCacheTest, NoticesThatAMatchIsOutOfDate) {
  serve(count(0, 24));
  const PrefixMatch match = cache.match({}, count(0, 24));
  EXPECT_EQ(match.idle, 3);
  BlockTable large = cache.make_table();
  ASSERT_TRUE(cache.reserve(large, 0, 14 * kBlockTokens));
  large.truncate(0);
  serve(count(500, 64));  // others take the pages, and publish them
  BlockTable table = cache.make_table();
  EXPECT_EQ(cache.attach(table, match, time), 16);
  EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps({}, count(0, 24)), 16), 16);
}

TEST_F(PagedCacheTest, ForgetsWhatAFailedStepWroteAndAllBehindIt) {
  const BlockTable table = serve(count(0, 24));
  serve(count(0, 16) + count(80, 8));
  cache.forget({}, count(0, 24), 9);
  EXPECT_EQ(found(count(0, 24)), 8);
  EXPECT_EQ(found(count(0, 16) + count(80, 8)), 8);
  const BlockTable* const tables[] = {&table};
  cache.check_integrity(tables);
}

TEST_F(PagedCacheTest, RefusesWithoutAnyChange) {
  BlockTable table = serve(count(0, 12));
  EXPECT_FALSE(cache.reserve(table, 12, 17 * kBlockTokens));
  EXPECT_EQ(table.blocks().size(), 2u);
  EXPECT_EQ(cache.use().free, 14);
  PagedCache small({.block_tokens = kBlockTokens, .pages = 16, .swap_bytes = 64}, device, nullptr);  // one page
  BlockTable two = small.make_table();
  ASSERT_TRUE(small.reserve(two, 0, 16));
  EXPECT_FALSE(small.swap_out(two, 16));
  EXPECT_EQ(two.blocks().size(), 2u);
}

TEST_F(PagedCacheTest, SwapsOutAndIn) {
  BlockTable table = serve(count(0, 20), false);
  auto ticket = cache.swap_out(table, 20);
  ASSERT_TRUE(ticket);
  EXPECT_TRUE(table.blocks().empty());
  EXPECT_EQ(cache.use().swap_used_pages, 3);
  EXPECT_EQ(cache.use().cached, 2);
  BlockTable large = cache.make_table();
  ASSERT_TRUE(cache.reserve(large, 0, 14 * kBlockTokens));
  EXPECT_FALSE(cache.swap_in(*ticket, table));
  large.truncate(0);
  ASSERT_TRUE(cache.swap_in(*ticket, table));
  EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps({}, count(0, 20)), 20), 20);
}

TEST_F(PagedCacheTest, SwapsNothingOutWhereHostMemoryIsShortAndLater) {
  const Tokens tokens = count(0, 24);
  BlockTable table = serve(tokens);
  device.limit_host_pages(2);
  EXPECT_FALSE(cache.swap_out(table, 24));
  EXPECT_EQ(cache.use().swap_used_pages, 0);
  EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps({}, tokens), 24), 24);
  device.limit_host_pages(1);  // it has two already
  auto ticket = cache.swap_out(table, 24);
  ASSERT_TRUE(ticket);
  EXPECT_TRUE(table.blocks().empty());
  cache.clear();
  ASSERT_TRUE(cache.swap_in(*ticket, table));
  EXPECT_EQ(device.first_wrong(table, StampedDevice::stamps({}, tokens), 24), 24);
}

TEST_F(PagedCacheTest, TellsTheDeviceWhatIsFreed) {
  const Tokens tokens = count(0, 24);
  BlockTable table = serve(tokens), reader = cache.make_table();
  reader.share(table.blocks());
  table.truncate(0);
  EXPECT_EQ(device.first_wrong(reader, StampedDevice::stamps({}, tokens), 24), 24);
  const std::vector<BlockId> pages(reader.blocks().begin(), reader.blocks().end());
  reader.truncate(8);
  cache.clear();
  BlockTable next = cache.make_table();
  ASSERT_TRUE(next.reserve(16 * kBlockTokens - 8));
  for (std::int64_t i = 0; i < next.capacity_tokens(); ++i) EXPECT_EQ(device.stamp(next, i), 0u) << i;
  EXPECT_EQ(device.first_wrong(reader, StampedDevice::stamps({}, tokens), 8), 8);
}

TEST_F(PagedCacheTest, CompactsPublishedPagesToo) {
  BlockTable wall = cache.make_table(), a = cache.make_table();
  const Tokens tokens = count(0, 24);
  ASSERT_TRUE(wall.reserve(16 * kBlockTokens));
  BlockTable rest = cache.make_table();
  rest.share(std::vector<BlockId>{0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  wall.truncate(0);
  ASSERT_TRUE(a.reserve(16));  // pages 1 and 3
  rest.truncate(3 * kBlockTokens);
  ASSERT_TRUE(a.reserve(24));
  ASSERT_EQ(a.long_extent_tokens(), 0);
  device.compute(a, StampedDevice::stamps({}, tokens), 0, 24);
  cache.publish({}, a, tokens, false, {}, time);
  BlockTable* const tables[] = {&a};
  for (int copies = 0; copies < 3; ++copies) {  // in no more than one step each
    EXPECT_EQ(found(tokens), 24);
    if (cache.compact(tables, 1) == 0) break;
    EXPECT_EQ(device.first_wrong(a, StampedDevice::stamps({}, tokens), 24), 24);
  }
  EXPECT_EQ(cache.compact(tables, 8), 0);
  EXPECT_EQ(a.long_extent_tokens(), 24);
  EXPECT_EQ(found(tokens), 24);
}

TEST_F(PagedCacheTest, FindsNothingWithoutPrefixCaching) {
  PagedCache plain({.block_tokens = kBlockTokens, .pages = 16, .prefix_caching = false}, device, nullptr);
  BlockTable table = plain.make_table();
  ASSERT_TRUE(plain.reserve(table, 0, 16));
  plain.publish({}, table, count(0, 16), true, {}, time);
  EXPECT_EQ(plain.match({}, count(0, 16)).tokens, 0);
  EXPECT_EQ(plain.use().published, 0);
}

}  // namespace
}  // namespace millrace::kv
