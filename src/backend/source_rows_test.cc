#include "backend/source_rows.h"

#include <gtest/gtest.h>

#include <cstring>

namespace millrace::backend {
namespace {

// Two matrices of two rows; value 10 * row + column.
WeightSource numbered_source() {
  WeightSource source{.name = "w", .format = quant::find_format("f32"), .rows = 2, .cols = 3, .read = {}};
  source.read = [](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    for (std::int64_t i = 0; i < 3 * count; ++i) {
      const std::int64_t row = first + i / 3;
      const auto value = static_cast<float>(10 * row + i % 3);
      std::memcpy(out.data() + i * 4, &value, 4);
    }
  };
  source.experts = 2;
  return source;
}

TEST(SourceRows, AreAsTheyAreStored) {
  EXPECT_EQ(source_row(numbered_source(), 1), (std::vector<float>{10, 11, 12}));
  EXPECT_EQ(source_values(numbered_source()), (std::vector<float>{0, 1, 2, 10, 11, 12}));
}

TEST(SourceRows, HaveColumnsInTheOrderOfX) {
  WeightSource source = numbered_source();
  source.columns = {1, 2, 0};  // the first stored one is multiplied with x[1]
  EXPECT_EQ(source_row(source, 1), (std::vector<float>{12, 10, 11}));
}

TEST(SourceRows, AreMultipliedWithTheirExpertsFactor) {
  WeightSource source = numbered_source();
  source.factors = {2.0f, -1.0f};
  EXPECT_EQ(source_row(source, 1), (std::vector<float>{20, 22, 24}));
  EXPECT_EQ(source_row(source, 2), (std::vector<float>{-20, -21, -22}));
}

}  // namespace
}  // namespace millrace::backend
