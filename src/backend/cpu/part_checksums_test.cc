#include "backend/cpu/part_checksums.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_linear.h"

namespace millrace::backend::cpu {
namespace {

WeightSource checked_source(const char* name, std::int64_t rows, std::int64_t experts) {
  return {.name = name,
          .format = quant::find_format("f32"),
          .rows = rows,
          .cols = 1024,
          .read =
              [](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
                std::mt19937 random(static_cast<unsigned>(first));
                std::vector<float> values(static_cast<std::size_t>(count) * 1024);
                for (float& value : values) value = static_cast<float>(random() % 1000) - 500.0f;
                std::memcpy(out.data(), values.data(), out.size());
              },
          .experts = experts};
}

TEST(PartChecksums, AreTheSameWithAnyNumberOfWorkers) {
  std::vector<std::byte> bytes(3 * kPartBytes + 5, std::byte{7});
  WorkerTeam one(1), three(3);
  const std::vector<std::uint64_t> sums = part_checksums(bytes, one);
  ASSERT_EQ(sums.size(), 4u);
  EXPECT_EQ(part_checksums(bytes, three), sums);
  for (std::size_t part = 0; part < sums.size(); ++part) EXPECT_EQ(part_checksum(part_of(bytes, part)), sums[part]);
  bytes.back() ^= std::byte{1};
  EXPECT_NE(part_checksum(part_of(bytes, 3)), sums[3]);
}

// Every byte that a product reads is in a part, whichever of the stacked weights and experts it is of.
TEST(PartChecksums, FindABitThatChangesInAWeight) {
  const auto backend = make_cpu_backend({.threads = 2}).or_throw();
  for (const std::int64_t experts : {1, 3}) {
    const auto made = backend->make_linear(
        {checked_source("first", 112, experts), checked_source("second", 40, experts)}, MatmulPrecision::kF32);
    const PackedLinear& weight = packed(made.get());
    ASSERT_GT(weight.checked_parts(), 2u);
    const auto damaged = [&] {
      std::vector<std::string> names;
      for (std::size_t part = 0; part < weight.checked_parts(); ++part) {
        if (const auto name = weight.damage(part)) names.emplace_back(*name);
      }
      return names;
    };
    EXPECT_TRUE(damaged().empty());
    for (const std::size_t segment : {std::size_t{0}, std::size_t{1}}) {
      const std::span<const std::byte> bytes = weight.view(segment).memory(0, segment == 0 ? 7 : 3, experts - 1);
      for (const std::byte* at : {weight.view(segment).panels, bytes.data(), bytes.data() + bytes.size() - 1}) {
        std::byte& changed = const_cast<std::byte&>(*at);
        changed ^= std::byte{0x20};
        EXPECT_EQ(damaged(), std::vector<std::string>{segment == 0 ? "first" : "second"}) << experts;
        changed ^= std::byte{0x20};
      }
    }
    EXPECT_TRUE(damaged().empty());
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
