#include "runtime/adapter_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

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
  EXPECT_EQ(adapter_memory(config, cards, 3).reserved, 60 * kMiB) << "of all ranks";
  EXPECT_EQ(adapter_memory(config, cards, 3).loaded, 24 * kMiB);
}

TEST(AdapterMemory, IsOfTheLargestInTheDirectory) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "adapter_memory_test";
  const auto write = [&](const std::string& name, std::uint64_t bytes) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << std::string(bytes, 'x');
  };
  write("a/adapter_model.safetensors", 1000);
  write("a/optimizer.pt", 9000);
  write("b/checkpoint-5/adapter_model.safetensors", 2000);
  write("a_base_model.gguf", 8000);
  AdapterConfig config{.lora_dir = folder.string()};
  EXPECT_EQ(adapter_memory(config, {}).reserved, 0u) << "no limit";
  config.max_loras = 3;
  EXPECT_EQ(adapter_memory(config, {}).reserved, 6000u);
  EXPECT_EQ(adapter_memory(config, loaded({5000})).reserved, 15000u);
  config.lora = {{"a", (folder / "a").string()}};
  EXPECT_EQ(expected_adapter_bytes(config), 6000u);
  config.lora_dir = (folder / "missing").string();
  EXPECT_EQ(expected_adapter_bytes(config), 3000u);
  std::filesystem::remove_all(folder);
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
