#include "draft/page_coverage.h"

#include <gtest/gtest.h>

namespace millrace::draft {
namespace {

using Tokens = std::vector<std::int32_t>;
using Pages = std::vector<kv::BlockId>;

std::vector<std::uint64_t> hashes_of(const Tokens& tokens) {
  std::vector<std::uint64_t> hashes;
  extend_hashes(tokens, hashes);
  return hashes;
}

TEST(PageCoverage, KnowsWhatWasComputedOfTheSameBeginningOnly) {
  PageCoverage coverage(8, 4);
  const auto ours = hashes_of({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Pages pages = {3, 1, 5};
  EXPECT_EQ(coverage.covered(ours, pages), 0);
  coverage.cover(ours, pages, 0, 6);
  EXPECT_EQ(coverage.covered(ours, pages), 6);
  coverage.cover(ours, pages, 6, 9);
  EXPECT_EQ(coverage.covered(ours, pages), 9);
  EXPECT_EQ(coverage.covered(hashes_of({1, 2, 3, 4, 5, 6, 7, 9}), pages), 4);
  EXPECT_EQ(coverage.covered(hashes_of({0, 2, 3, 4, 5, 6, 7, 8}), pages), 0);
}

TEST(PageCoverage, FollowsCopiesAndForgetsPagesWrittenFromOutside) {
  PageCoverage coverage(8, 4);
  const auto hashes = hashes_of({1, 2, 3, 4, 5, 6});
  coverage.cover(hashes, Pages{0, 1}, 0, 6);
  coverage.copied(1, 7);
  EXPECT_EQ(coverage.covered(hashes, Pages{0, 7}), 6);
  coverage.forget(0);
  EXPECT_EQ(coverage.covered(hashes, Pages{0, 7}), 0);
}

}  // namespace
}  // namespace millrace::draft
