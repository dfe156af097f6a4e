// What rank 0 does with pages, the other ranks do with theirs.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backend/testing/test_backend.h"
#include "model/testing/shared_runner.h"

namespace millrace::model {
namespace {

TEST(RankPages, FreePagesAreGivenBackByAllRanks) {
  constexpr kv::BlockId kPages = 40;
  const auto kept = [](kv::BlockId page) { return page == 0 || (page > 2 && page < 7) || page == kPages - 1; };
  const auto use = [&](TestRunner& runner) {
    kv::KvStore store = runner.transformer().make_store({.encoding = "f32", .block_tokens = 128}, kPages).or_throw();
    std::vector<std::byte> bytes(store.page_bytes());
    for (kv::BlockId page = 0; page < kPages; ++page) {
      std::ranges::fill(bytes, static_cast<std::byte>(page + 1));
      store.write(page, bytes);
    }
    for (std::int32_t part = 0; part < store.memory_parts(); ++part) store.give_back(part, kept);
    for (kv::BlockId page = 0; page < kPages; ++page) {
      store.read(page, bytes);
      const auto value = static_cast<std::byte>(page + 1);
      const auto of_rank_1 = std::span(bytes).subspan(store.own_page_bytes());
      if (kept(page)) {
        EXPECT_EQ(std::ranges::count(bytes, value), std::ssize(bytes)) << page;
      } else if (!backend::test_memory_is_locked()) {  // which may be kept
        EXPECT_GT(std::ranges::count(of_rank_1, std::byte{0}), 0) << page;
      }
    }
  };
  const std::string path = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";
  run_shared(path, {.max_length = 24}, {.shares = {1, 1}}, use);
}

}  // namespace
}  // namespace millrace::model
