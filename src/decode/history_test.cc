#include "decode/history.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace millrace::decode {
namespace {

TEST(History, CountsWhatIsInTheWindow) {
  std::mt19937 random(4);
  for (const std::int64_t window : {-1, 0, 1, 5, 40}) {
    for (const std::size_t prompt : {0u, 3u, 20u}) {
      History history({.tokens = false, .counts = true, .window = window}, 8);
      std::vector<std::int32_t> all;
      for (std::size_t i = 0; i < prompt; ++i) all.push_back(static_cast<std::int32_t>(random() % 8));
      history.observe(std::span(all).first(prompt / 2));
      history.observe(std::span(all).subspan(prompt / 2));
      for (int step = 0; step < 60; ++step) {
        std::map<std::int32_t, std::pair<int, int>> expected;
        const std::size_t first = window < 0 ? 0 : all.size() - std::min(all.size(), static_cast<std::size_t>(window));
        for (std::size_t i = first; i < all.size(); ++i) {
          ++expected[all[i]].first;
          if (i >= prompt) ++expected[all[i]].second;
        }
        ASSERT_EQ(history.occurrences().size(), expected.size()) << window;
        for (const Occurrence& o : history.occurrences()) {
          ASSERT_EQ(std::pair(o.anywhere, o.in_answer), expected.at(o.token)) << window << " " << o.token;
        }
        all.push_back(static_cast<std::int32_t>(random() % 8));
        history.accept(all.back());
      }
    }
  }
}

TEST(History, ACopyGoesItsOwnWay) {
  History history({.tokens = true, .counts = true, .window = -1}, 8);
  const std::vector<std::int32_t> prompt = {1, 2};
  history.observe(prompt);
  history.accept(3);
  History copy = history;
  copy.accept(4);
  history.accept(5);
  EXPECT_EQ(copy.size(), 4);
  EXPECT_EQ(copy.from_end(0), 4);
  EXPECT_EQ(history.from_end(0), 5);
  EXPECT_EQ(history.from_end(3), 1);
  EXPECT_EQ(copy.occurrences().back().token, 4);
  EXPECT_EQ(history.occurrences().back().token, 5);
}

}  // namespace
}  // namespace millrace::decode
