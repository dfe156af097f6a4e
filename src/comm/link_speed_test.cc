#include "comm/link_speed.h"

#include <gtest/gtest.h>

#include <set>

#include "base/cpu_quota.h"
#include "comm/testing/rank_threads.h"

namespace millrace::comm {
namespace {

// A machine that does other things may make it impossible, and says so.
void expect_speed(const Result<LinkSpeed>& speed) {
  if (!speed) {
    EXPECT_NE(speed.error().message.find("other programs disturb"), std::string::npos) << speed.error().message;
    return;
  }
  EXPECT_GT(speed->latency_us, 0.0);
  EXPECT_GT(speed->gb_per_s, 0.0);
  EXPECT_GT(speed->exchange_8k_us, 0.0);
}

TEST(LinkSpeed, IsMeasuredByAllRanksOfAStage) {
  run_ranks({.stage_ranks = 2, .memory = kLinkSpeedMemory},
            [](std::shared_ptr<Communicator> group) { expect_speed(measure_link_speed(*group)); });
}

TEST(LinkSpeed, IsMeasuredBetweenProcesses) {
  const auto speed = measure_shm_link_speed();
  if (usable_threads() > 1) return expect_speed(speed);
  ASSERT_FALSE(speed);
  EXPECT_EQ(speed.error().code, ErrorCode::kUnsupported);
}

// Counts what is published, and is the only rank.
TEST(LinkSpeed, ExchangesBlocksThatLieApart) {
  struct Alone final : Communicator {
    int rank() const noexcept override { return 0; }
    int ranks() const noexcept override { return 1; }
    std::span<std::byte> memory() noexcept override { return bytes; }
    std::uint64_t publish(const Block& block) noexcept override {
      EXPECT_NE(block.first, last);
      EXPECT_LE(block.first + block.ends.back(), bytes.size());
      last = block.first;
      sizes.insert(block.ends.back());
      return ++blocks;
    }
    std::uint64_t published() const noexcept override { return blocks; }
    Result<void> await(std::uint64_t, Timeout) noexcept override { return {}; }
    Result<void> send(std::span<const std::byte>, Timeout) noexcept override { return {}; }
    Result<std::vector<std::byte>> receive(Timeout) override { return std::vector<std::byte>(); }
    Result<void> answer(std::span<const std::byte>, Timeout) noexcept override { return {}; }
    Result<std::vector<std::byte>> collect(int, Timeout) override { return std::vector<std::byte>(); }
    Result<void> pass(std::span<const std::byte>, Timeout) noexcept override { return {}; }
    Result<std::vector<std::byte>> take(Timeout) override { return std::vector<std::byte>(); }
    std::vector<std::byte> bytes = std::vector<std::byte>(kLinkSpeedMemory);
    std::set<std::size_t> sizes;
    std::size_t last = 1;
    std::uint64_t blocks = 0;
  } group;
  static_cast<void>(measure_link_speed(group));
  EXPECT_EQ(group.sizes, (std::set<std::size_t>{64, 8192, kLinkSpeedMemory / 2}));
}

}  // namespace
}  // namespace millrace::comm
