// Every encoding of the table: names, bounds of errors, and what becomes of numbers that it does not hold.

#include "backend/cpu/kv_encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "backend/cpu/kv_codes.h"
#include "backend/cpu/kv_key_codes.h"
#include "backend/cpu/testing/reference.h"

namespace millrace::backend::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Head {
  std::vector<float> key, value;
};

class KvEncodings : public testing::Test {
 protected:
  // What is read of a token that was written.
  static Head round(const KvGeometry& geometry, const Head& head, bool* fits = nullptr) {
    static const KernelSet kernels = select_kernels(Isa::kScalar);
    KvTokenBytes bytes;
    const bool fitted = geometry.encoding->write(kernels, geometry, head.key.data(), head.value.data(), bytes);
    if (fits != nullptr) *fits = fitted;
    Head read = head;
    geometry.encoding->read(geometry, bytes.token(), read.key.data(), read.value.data());
    return read;
  }
  static Head random_head(const KvGeometry& geometry, unsigned seed) {
    return {normal_values(static_cast<std::size_t>(geometry.padded_key_dim()), seed),
            normal_values(static_cast<std::size_t>(geometry.padded_value_dim()), seed + 1)};
  }
  static void expect_near(std::span<const float> stored, std::span<const float> x, float bound) {
    float largest = 0.0f;
    for (const float v : x) largest = std::max(largest, std::fabs(v));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(stored[i], x[i], bound * largest) << i;
  }
};

TEST_F(KvEncodings, HaveNamesAndAliasesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const KvEncoding& encoding : all_kv_encodings()) {
    EXPECT_TRUE(names.insert(encoding.name).second) << encoding.name;
    for (const std::string_view alias : encoding.aliases) {
      EXPECT_TRUE(names.insert(alias).second) << alias;
      EXPECT_EQ(find_kv_encoding(alias), &encoding);
    }
    EXPECT_EQ(find_kv_encoding(encoding.name), &encoding);
    EXPECT_FALSE(encoding.description.empty());
  }
  EXPECT_EQ(find_kv_encoding("f8"), nullptr);
}

TEST_F(KvEncodings, KeepNumbersWithinTheirBounds) {
  for (const KvEncoding& encoding : all_kv_encodings()) {
    SCOPED_TRACE(encoding.name);
    for (const std::int64_t dim : {16, 32, 64, 80, 128, 576}) {
      const KvGeometry geometry{.encoding = &encoding, .key_dim = dim, .value_dim = std::min(dim, kMaxValueDim)};
      for (unsigned seed = 1; seed < 30; ++seed) {
        Head head = random_head(geometry, seed);
        for (const float factor : {1.0f, 50.0f}) {
          for (float& x : head.key) x *= factor;
          for (float& x : head.value) x *= factor;
          bool fits = false;
          const Head stored = round(geometry, head, &fits);
          EXPECT_TRUE(fits);
          expect_near(stored.key, head.key, encoding.key_error);
          expect_near(stored.value, head.value, encoding.value_error);
        }
      }
    }
  }
}

TEST_F(KvEncodings, ReadNanOfAHeadWithANumberThatIsNotOne) {
  for (const KvEncoding& encoding : all_kv_encodings()) {
    const KvGeometry geometry{.encoding = &encoding, .key_dim = 64, .value_dim = 64};
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      Head head = random_head(geometry, 3);
      head.key[17] = head.value[40] = bad;
      const Head stored = round(geometry, head);
      EXPECT_FALSE(std::isfinite(stored.key[17])) << encoding.name;
      EXPECT_FALSE(std::isfinite(stored.value[40])) << encoding.name;
    }
  }
}

TEST_F(KvEncodings, SayWhereANumberDoesNotFit) {
  for (const KvEncoding& encoding : all_kv_encodings()) {
    const KvGeometry geometry{.encoding = &encoding, .key_dim = 64, .value_dim = 64};
    Head head = random_head(geometry, 5);
    head.key[3] = 1e6f;
    bool fits = false;
    const Head stored = round(geometry, head, &fits);
    EXPECT_EQ(std::isnan(stored.key[3]), !fits) << encoding.name;
    const bool narrow = encoding.name == "fp8_e4m3" || encoding.name == "int4" || encoding.name == "k8v4";
    const bool wide = encoding.name == "f32" || encoding.name == "bf16" || encoding.name == "int8";
    EXPECT_TRUE(narrow ? !fits : fits || !wide) << encoding.name;
  }
}

// A scale of the checkpoint covers what it was measured for; what is beyond saturates, as it does elsewhere.
TEST_F(KvEncodings, Fp8TakesTheScalesOfTheCheckpoint) {
  KvGeometry geometry{.encoding = find_kv_encoding("fp8_e4m3"), .key_dim = 16, .value_dim = 16};
  geometry.key_scale = 2.0f, geometry.value_scale = 0.5f;
  Head head{std::vector<float>(16, 800.0f), std::vector<float>(16, 100.0f)};
  head.key[1] = 2000.0f, head.value[1] = -300.0f;
  bool fits = false;
  const Head stored = round(geometry, head, &fits);
  EXPECT_TRUE(fits);
  EXPECT_EQ(stored.key[0], 768.0f);  // 400 lies between 384 and 416
  EXPECT_EQ(stored.key[1], 896.0f);
  EXPECT_EQ(stored.value[0], 96.0f);
  EXPECT_EQ(stored.value[1], -224.0f);
}

TEST(E4m3, RoundsToTheNearestOfItsNumbers) {
  EXPECT_TRUE(std::isnan(e4m3_to_f32(kE4m3Nan)));
  EXPECT_TRUE(std::isnan(e4m3_to_f32(encode_e4m3(kInfinity))));
  EXPECT_EQ(e4m3_to_f32(1), 0x1p-9f);
  EXPECT_EQ(e4m3_to_f32(0x7e), 448.0f);
  for (int byte = 0; byte < 0x7f; ++byte) {
    const float x = e4m3_to_f32(static_cast<std::uint8_t>(byte));
    EXPECT_EQ(encode_e4m3(x), byte);
    EXPECT_EQ(encode_e4m3(-x), byte | 0x80);
    const float next = byte == 0x7e ? 480.0f : e4m3_to_f32(static_cast<std::uint8_t>(byte + 1));
    const float between = (x + next) / 2;
    EXPECT_EQ(encode_e4m3(std::nextafter(between, 0.0f)), byte);
    EXPECT_EQ(encode_e4m3(std::nextafter(between, 1e9f)), byte + 1);
    EXPECT_EQ(encode_e4m3(between), byte % 2 == 0 ? byte : byte + 1);
  }
}

TEST(CodeGroups, LoseNoMoreThanCodesAcrossTheRange) {
  for (unsigned seed = 1; seed < 200; ++seed) {
    const std::vector<float> x = normal_values(kCodeGroup, seed);
    std::uint8_t codes[kCodeGroup];
    std::byte scales[4];
    ASSERT_TRUE(encode_groups(x.data(), kCodeGroup, 15, codes, scales));
    std::vector<float> stored(kCodeGroup);
    decode_groups(codes, scales, kCodeGroup, stored.data());
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const double step = (*high - *low) / 15;
    double error = 0.0, plain = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double code = std::nearbyint((x[i] - *low) / step);
      plain += std::pow(x[i] - (*low + code * step), 2);
      error += std::pow(x[i] - stored[i], 2);
    }
    EXPECT_LE(error, plain * 1.01) << seed;
  }
}

TEST(CodeGroups, NibblesComeBack) {
  std::uint8_t codes[96], back[96];
  for (std::size_t i = 0; i < 96; ++i) codes[i] = static_cast<std::uint8_t>(i * 7 % 16);
  std::byte bytes[48];
  pack_key_nibbles(codes, 96, bytes);
  unpack_key_nibbles(bytes, 96, back);
  EXPECT_TRUE(std::ranges::equal(codes, back));
  pack_value_nibbles(codes, 96, bytes);
  unpack_value_nibbles(bytes, 96, back);
  EXPECT_TRUE(std::ranges::equal(codes, back));
}

TEST(KeyCodes, FifthBitsComeBack) {
  std::uint8_t codes[96], back[96];
  for (std::size_t i = 0; i < 96; ++i) back[i] = codes[i] = static_cast<std::uint8_t>(i * 7 % 32);
  std::byte bits[12];
  take_fifth_bits(back, 96, bits);
  EXPECT_TRUE(std::ranges::all_of(back, [](std::uint8_t c) { return c < 16; }));
  give_fifth_bits(bits, 96, back);
  EXPECT_TRUE(std::ranges::equal(codes, back));
}

}  // namespace
}  // namespace millrace::backend::cpu
