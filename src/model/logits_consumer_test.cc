// Rows that go to a sink: what they are, and that nothing else changes them.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "model/testing/runner.h"

namespace millrace::model {
namespace {

const std::string kTinyGoldens = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/";

struct Collector final : LogitsConsumer {
  std::vector<float> logits, hidden;
  std::int64_t max_rows = 0;
  void take(std::vector<float>& all, std::int64_t first, const TensorView& rows) {
    EXPECT_EQ(first * rows.cols(), static_cast<std::int64_t>(all.size()));
    for (std::int64_t i = 0; i < rows.rows(); ++i) all.insert(all.end(), rows.row(i), rows.row(i) + rows.cols());
    max_rows = std::max(max_rows, rows.rows());
  }
  void take_logits(std::int64_t first, const TensorView& rows) override { take(logits, first, rows); }
  void take_hidden(std::int64_t first, const TensorView& rows) override { take(hidden, first, rows); }
};

class LogitsConsumerTest : public testing::TestWithParam<const char*> {};

TEST_P(LogitsConsumerTest, GetsTheBitsOfTheLogitsInBlocksAndTheStatesTheyAreProductsOf) {
  TestRunner runner(kTinyGoldens + GetParam(), {});
  std::mt19937 random(5);
  std::vector<std::int32_t> tokens(GetParam() == std::string("gpt2") ? 64 : 150);  // gpt2 has 64 positions
  for (std::int32_t& t : tokens) t = static_cast<std::int32_t>(3 + random() % 61);
  const std::vector<float> whole = runner.run_whole(tokens);
  const ModelSpec& spec = runner.transformer().spec();
  const auto vocabulary = static_cast<std::size_t>(spec.vocab_size), width = static_cast<std::size_t>(spec.hidden_size);
  for (const std::int64_t chunk : {1, 7, 512}) {
    Collector all;
    runner.run_into(tokens, chunk, all);
    ASSERT_EQ(all.logits.size(), whole.size());
    EXPECT_EQ(std::memcmp(all.logits.data(), whole.data(), whole.size() * sizeof(float)), 0) << chunk;
    EXPECT_LE(all.max_rows, 64);
    ASSERT_EQ(all.hidden.size(), tokens.size() * width);

    // The states times the head are the logits.
    const std::vector<float> head = runner.head();
    for (const std::size_t row : {std::size_t{0}, std::size_t{63}, tokens.size() - 1}) {
      for (std::size_t v = 0; v < vocabulary; ++v) {
        double sum = 0.0;
        for (std::size_t i = 0; i < width; ++i)
          sum += static_cast<double>(all.hidden[row * width + i]) * head[v * width + i];
        ASSERT_NEAR(sum, whole[row * vocabulary + v], 1e-4) << row << " " << v;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LogitsConsumerTest, testing::Values("llama", "gpt2"));

}  // namespace
}  // namespace millrace::model
