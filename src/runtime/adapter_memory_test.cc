#include "runtime/adapter_memory.h"

#include <gtest/gtest.h>

namespace millrace::runtime {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

std::vector<model::AdapterCard> loaded(std::initializer_list<std::uint64_t> sizes) {
  std::vector<model::AdapterCard> cards;
  for (const std::uint64_t bytes : sizes) cards.push_back({.resident = true, .bytes = bytes});
  return cards;
}

TEST(AdapterMemory, IsWhatTheLimitsAllow) {
  AdapterConfig config;
  const auto cards = loaded({3 * kMiB, 5 * kMiB});
  EXPECT_EQ(adapter_memory(config, cards).reserved, 8 * kMiB) << "without a limit what is there";
  config.max_loras = 4;
  EXPECT_EQ(adapter_memory(config, cards).reserved, 20 * kMiB);
  EXPECT_EQ(adapter_memory(config, {}).reserved, 0u) << "nothing says how large one is";
  config.lora_memory = 16 * kMiB;
  EXPECT_EQ(adapter_memory(config, cards).reserved, 16 * kMiB);
  EXPECT_EQ(adapter_memory(config, cards).limit, "lora-memory");
  config.lora_memory = 64 * kMiB;
  EXPECT_EQ(adapter_memory(config, cards).reserved, 20 * kMiB) << "the smaller one of both";
  EXPECT_EQ(adapter_memory(config, {}).reserved, 64 * kMiB);
}

TEST(AdapterMemory, ThatDoesNotFitIsRefusedNamingTheLimit) {
  AdapterConfig config;
  config.lora_memory = 100 * kMiB;
  const AdapterMemory memory = adapter_memory(config, loaded({10 * kMiB}));
  EXPECT_TRUE(check_adapter_memory(memory, 30 * kMiB, 120 * kMiB));
  EXPECT_TRUE(check_adapter_memory(memory, 30 * kMiB, 0)) << "unknown";
  const auto refused = check_adapter_memory(memory, 31 * kMiB, 120 * kMiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().param, "lora-memory");
  EXPECT_NE(refused.error().message.find("--lora-memory keeps 105 MB"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(check_adapter_memory(adapter_memory({}, loaded({10 * kMiB})), 200 * kMiB, 120 * kMiB)) << "no limit";
}

}  // namespace
}  // namespace millrace::runtime
