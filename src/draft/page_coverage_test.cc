#include "draft/page_coverage.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

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

// As a page's companion does on its way to other memory.
TEST(PageCoverage, GoesWithAPageAndIsNotBelievedBlindly) {
  const auto hashes = hashes_of({1, 2, 3, 4, 5, 6});
  PageCoverage here(4, 4), there(4, 4);
  const Pages pages = {2, 0}, others = {1, 3};
  here.cover(hashes, pages, 0, 6);
  std::array<std::byte, PageCoverage::kBytes> sent{};
  for (std::size_t i = 0; i < pages.size(); ++i) {
    here.read(pages[i], sent);
    there.write(others[i], sent);
  }
  EXPECT_EQ(there.covered(hashes, others), 6);
  const std::int64_t too_many = 5;  // for a page, with the right hash
  std::memcpy(sent.data(), &hashes[5], sizeof(hashes[5]));
  std::memcpy(&sent[8], &too_many, sizeof(too_many));
  there.write(1, sent);
  EXPECT_EQ(there.covered(hashes, others), 0);
}

}  // namespace
}  // namespace millrace::draft
