#include "quant/format.h"

#include "quant/group_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace millrace::quant {
namespace {

std::vector<float> round_trip(const QuantFormat& format, const std::vector<float>& values) {
  std::vector<std::byte> blocks(format.row_bytes(static_cast<std::int64_t>(values.size())));
  std::vector<float> out(values.size());
  format.pack(values, blocks.data());
  format.unpack(blocks.data(), out);
  return out;
}

// Those that can be written.
std::vector<QuantFormat> written_formats() {
  std::vector<QuantFormat> formats;
  for (const auto some : {all_formats(), group_formats()}) {
    for (const QuantFormat& format : some) {
      if (format.pack != nullptr) formats.push_back(format);
    }
  }
  return formats;
}

float largest(std::span<const float> values) {
  float out = 0.0f;
  for (const float v : values) out = std::max(out, std::fabs(v));
  return out;
}

TEST(AllFormats, AreFoundByEachOfTheirNames) {
  std::set<std::string_view> names;
  std::set<int> types;
  for (const QuantFormat& format : all_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(format.gguf_type < 0 || types.insert(format.gguf_type).second) << format.name;
    EXPECT_EQ(find_format(format.name), &format);
    if (format.gguf_type >= 0) {
      EXPECT_EQ(find_gguf_type(static_cast<std::uint32_t>(format.gguf_type)), &format);
    }
  }
  for (const char* name :
       {"f32",     "f16",   "bf16",   "q4_0",   "q4_1",  "q5_0",  "q5_1",  "q8_0",    "q2_k",   "q3_k",
        "q4_k",    "q5_k",  "q6_k",   "iq4_nl", "mxfp4", "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s",
        "iq3_xxs", "iq3_s", "iq4_xs", "tq1_0",  "tq2_0", "nvfp4", "q1_0",  "q2_0"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(find_safetensors_dtype("BF16"), find_format("bf16"));
  EXPECT_EQ(find_safetensors_dtype(""), nullptr);
  EXPECT_EQ(find_gguf_type(4), nullptr);
}

TEST(AllFormats, RoundTripsStayWithinTheStatedBound) {
  for (const QuantFormat& format : written_formats()) {
    std::mt19937 random(1);  // of each format its own, so that another format changes no other's values
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    float worst = 0.0f;
    for (int trial = 0; trial < 400; ++trial) {
      const float scale = std::exp2(4.0f * uniform(random));
      // A dense format has no block: there the bound is relative to a group of values.
      std::vector<float> values(static_cast<std::size_t>(std::max(format.block_values, 32)));
      for (float& v : values) v = scale * (trial % 2 == 0 ? normal(random) : uniform(random));
      const auto out = round_trip(format, values);
      for (std::size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, std::fabs(values[i] - out[i]) / largest(values));
    }
    EXPECT_LE(worst, format.max_relative_error) << format.name;
    EXPECT_GE(worst, format.max_relative_error * 0.4f) << format.name << ": the bound is slack";
  }
}

// Root mean square error of normal values relative to their own: what a sound quantizer of the format reaches.
TEST(AllFormats, NormalValuesKeepTheirShape) {
  const std::vector<std::pair<const char*, float>> limits = {
      {"q2_k", 0.32f},  {"q3_k", 0.17f},  {"q4_0", 0.10f},  {"iq4_nl", 0.085f}, {"q4_1", 0.085f}, {"q4_k", 0.075f},
      {"mxfp4", 0.13f}, {"q5_0", 0.048f}, {"q5_1", 0.042f}, {"q5_k", 0.038f},   {"q6_k", 0.02f},  {"q8_0", 0.006f}};
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> values(256 * 64);
  for (float& v : values) v = normal(random);
  for (const auto& [name, limit] : limits) {
    const auto out = round_trip(*find_format(name), values);
    double error = 0.0, power = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      error += (values[i] - out[i]) * (values[i] - out[i]);
      power += values[i] * values[i];
    }
    const double relative = std::sqrt(error / power);
    EXPECT_LE(relative, limit) << name;
    RecordProperty(name, std::to_string(relative));
  }
}

TEST(AllFormats, KeepZerosAndSurviveTinyAndConstantBlocks) {
  for (const QuantFormat& format : written_formats()) {
    const auto n = static_cast<std::size_t>(format.block_values);
    for (const float v : round_trip(format, std::vector<float>(n, 0.0f))) EXPECT_EQ(v, 0.0f) << format.name;
    for (const float v : round_trip(format, std::vector<float>(n, 1e-42f)))
      EXPECT_LE(std::fabs(v), 1e-6f) << format.name;
    for (const float constant : {0.75f, -0.75f}) {
      for (const float v : round_trip(format, std::vector<float>(n, constant)))
        EXPECT_NEAR(v, constant, 0.1f) << format.name;
    }
  }
}

TEST(AllFormats, PackingIsIdempotentOnceStored) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const QuantFormat& format : written_formats()) {
    if (format.block_values != 1) continue;  // dense: storing what was stored changes nothing
    std::vector<float> values(1000);
    for (float& v : values) v = normal(random);
    const auto once = round_trip(format, values);
    EXPECT_EQ(round_trip(format, once), once) << format.name;
  }
}

TEST(AllFormats, BlocksDoNotInfluenceEachOther) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (const QuantFormat& format : written_formats()) {
    if (format.row_scaled) continue;
    const auto n = static_cast<std::size_t>(format.block_values);
    std::vector<float> values(3 * n);
    for (float& v : values) v = normal(random);
    const auto together = round_trip(format, values);
    for (std::size_t b = 0; b < 3; ++b) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(b * n);
      const auto alone = round_trip(format, {first, first + static_cast<std::ptrdiff_t>(n)});
      EXPECT_EQ(std::memcmp(alone.data(), together.data() + b * n, n * sizeof(float)), 0) << format.name;
    }
  }
}

TEST(AllFormats, BlocksOfAFormatThatIsOnlyReadDoNotInfluenceEachOther) {
  std::mt19937 random(6);
  for (const QuantFormat& format : all_formats()) {
    if (format.pack != nullptr) continue;
    const auto n = static_cast<std::size_t>(format.block_values), bytes = static_cast<std::size_t>(format.block_bytes);
    std::vector<std::byte> blocks(3 * bytes);
    for (std::byte& b : blocks) b = static_cast<std::byte>(random());
    std::vector<float> together(3 * n), alone(n);
    format.unpack(blocks.data(), together);
    for (std::size_t b = 0; b < 3; ++b) {
      format.unpack(blocks.data() + b * bytes, alone);
      EXPECT_EQ(std::memcmp(alone.data(), together.data() + b * n, n * sizeof(float)), 0) << format.name;
    }
  }
}

TEST(AllFormats, UnpackTakesAnyBytes) {
  std::mt19937 random(5);
  for (const QuantFormat& format : all_formats()) {
    std::vector<std::byte> blocks(static_cast<std::size_t>(format.block_bytes) * 8);
    for (std::byte& b : blocks) b = static_cast<std::byte>(random());
    std::vector<float> out(static_cast<std::size_t>(format.block_values) * 8);
    format.unpack(blocks.data(), out);  // the sanitizers judge
  }
}

}  // namespace
}  // namespace millrace::quant
