#include "model/ranks/command_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "base/error.h"

namespace millrace::model {
namespace {

const StepLimits kSmall{
    .vocabulary = 100, .positions = 64, .layers = 3, .block_tokens = 8, .pages = 4, .window_pages = 2, .window = 5};

// Two sequences: ten tokens from the beginning, and one behind 17 others, of which its window leaves the last page.
RankStep good_step() {
  return {.tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 99, 0},
          .sequences = {{0, 10, 0, 2, 2}, {10, 1, 23, 3, 3}},
          .pages = {0, 1, 0, 1, 1, 2, 3, -1, 900, 1},
          .rope_lengths = {0, 20},
          .logit_rows = {9, 10},
          .scored_rows = {},
          .hidden_rows = {0},
          .layers = {0, 2},
          .has_windows = true,
          .adapters = {{7, 0, 10, 0.5f}, {8, 10, 1, -1.0f}}};
}

template <typename Command, typename... Limits>
std::string refusal(const Command& command, const Limits&... limits) {
  try {
    check_command(command, limits...);
    return "";
  } catch (const LoadError& failure) {
    EXPECT_EQ(failure.error().code, ErrorCode::kBadFile);
    return failure.what();
  }
}

TEST(CommandCheck, TakesAStepThatCanBe) { EXPECT_EQ(refusal(good_step(), kSmall), ""); }

TEST(CommandCheck, NamesWhatOfAStepCannotBe) {
  const auto expect = [](const std::function<void(RankStep&)>& change, const std::string& told) {
    RankStep step = good_step();
    change(step);
    EXPECT_EQ(refusal(step, kSmall), "rank 0 sends a command that cannot be: " + told);
  };
  expect([](RankStep& s) { s.tokens[3] = 100; }, "tokens has 100: must be from 0 to 99");
  expect([](RankStep& s) { s.tokens[3] = -1; }, "tokens has -1: must be from 0 to 99");
  expect([](RankStep& s) { s.tokens.clear(); }, "number of rows has 0: must be from 1 to 32");
  expect([](RankStep& s) { s.tokens.resize(33); }, "number of rows has 33: must be from 1 to 32");
  expect([](RankStep& s) { s.tokens.resize(12); }, "rows of all sequences has 11: must be from 12 to 12");
  expect([](RankStep& s) { s.sequences[1].first_row = 9; }, "first_row has 9: must be from 10 to 10");
  expect([](RankStep& s) { s.sequences[1].n_rows = 2; }, "n_rows has 2: must be from 1 to 1");
  expect([](RankStep& s) { s.sequences[0].n_rows = -1; }, "n_rows has -1: must be from 1 to 11");
  expect([](RankStep& s) { s.sequences[1].first_position = 64; }, "first_position has 64: must be from 0 to 63");
  expect([](RankStep& s) { s.sequences[1].first_position = 24; }, "pages are 3 for 25 tokens: must be at least 4");
  expect([](RankStep& s) { s.sequences[0].pages = 11; }, "number of pages has 11: must be from 0 to 10");
  expect([](RankStep& s) { s.sequences[0].window_pages = -1; }, "number of window pages has -1: must be from 0 to 8");
  expect([](RankStep& s) { s.sequences[0].pages = 1; }, "pages are 1 for 10 tokens: must be at least 2");
  expect([](RankStep& s) { s.pages[1] = 4; }, "pages has 4: must be from 0 to 3");
  expect([](RankStep& s) { s.pages[4] = -1; }, "pages has -1: must be from 0 to 3");
  expect([](RankStep& s) { s.pages[3] = 2; }, "window pages has 2: must be from 0 to 1");
  expect([](RankStep& s) { s.pages[9] = 2; }, "window pages has 2: must be from 0 to 1");
  expect([](RankStep& s) { s.pages.push_back(0); }, "pages of no sequence has 1: must be from 0 to 0");
  expect([](RankStep& s) { s.has_windows = false; }, "a step without window pages");
  expect([](RankStep& s) { s.rope_lengths.pop_back(); }, "number of rope_lengths has 1: must be from 2 to 2");
  expect([](RankStep& s) { s.rope_lengths[0] = -1; }, "rope_lengths has -1: must be from 0 to 2147483648");
  expect([](RankStep& s) { s.logit_rows = {11}; }, "logit_rows has 11: must be from 0 to 10");
  expect([](RankStep& s) { s.scored_rows = {3, 3}; }, "scored_rows has 3 before 3: must ascend");
  expect([](RankStep& s) { s.hidden_rows = {-1}; }, "hidden_rows has -1: must be from 0 to 10");
  expect([](RankStep& s) { s.layers = {2, 3}; }, "layers has 3: must be from 0 to 2");
  expect([](RankStep& s) { s.state_layers = {1}; }, "state_layers has 1: must have nothing");
  expect([](RankStep& s) { s.adapters[1].first_row = 11; }, "first_row of an adapter has 11: must be from 0 to 10");
  expect([](RankStep& s) { s.adapters[1].n_rows = 2; }, "n_rows of an adapter has 2: must be from 1 to 1");
  expect([](RankStep& s) { s.adapters[1].scale = INFINITY; }, "scale of an adapter is inf");
}

TEST(CommandCheck, NamesWhatOfAStoreOrAnAdapterCannotBe) {
  const RankStore good{.encoding = "bf16", .layout = "", .block_tokens = 32, .exceptions = {}, .pages = 3};
  EXPECT_EQ(refusal(good, 0), "");
  EXPECT_NE(refusal(good, 64).find("number of stores has 65: must be from 1 to 64"), std::string::npos);
  RankStore bad = good;
  bad.block_tokens = 0;
  EXPECT_NE(refusal(bad, 0).find("block_tokens has 0: must be from 1 to 1024"), std::string::npos);
  bad = good;
  bad.pages = -1;
  EXPECT_NE(refusal(bad, 0).find("pages of a store has -1"), std::string::npos);
  bad = good;
  bad.window_pages = -1;
  EXPECT_NE(refusal(bad, 0).find("window pages of a store has -1"), std::string::npos);
  bad = good;
  bad.exceptions.resize(4097);
  EXPECT_NE(refusal(bad, 0).find("number of exceptions has 4097"), std::string::npos);
  RankAdapter adapter{.path = "a", .key = "k", .max_rank = 64};
  EXPECT_EQ(refusal(adapter), "");
  adapter.type = static_cast<AdapterType>(4);
  EXPECT_NE(refusal(adapter).find("type of an adapter has 4: must be from 0 to 3"), std::string::npos);
  EXPECT_NE(refusal(RankAdapterAhead{.path = "a", .max_rank = -1}).find("max_rank has -1"), std::string::npos);
}

}  // namespace
}  // namespace millrace::model
