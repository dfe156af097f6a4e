// Every encoding of the table: names, bounds of errors, and what becomes of numbers that it does not hold.

#include "backend/cpu/kv_encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "backend/cpu/head_rotation.h"
#include "backend/cpu/kv_codes.h"
#include "backend/cpu/testing/attention_fixture.h"
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

// One channel far above the others, as keys have them, must not take the others' bits: rounding a head of 64 to 8 bits
// by its largest would be off by 50 / 127 / sqrt(12) = 0.11.
TEST_F(KvEncodings, CodesKeepTheOtherChannelsBesideALargeOne) {
  for (const KvEncoding& encoding : all_kv_encodings()) {
    if (encoding.product_bytes != 1) continue;
    const KvGeometry geometry{.encoding = &encoding, .key_dim = 64, .value_dim = 64};
    double squares = 0.0;
    for (unsigned seed = 1; seed < 30; ++seed) {
      Head head = random_head(geometry, seed);
      head.key[seed] = 50.0f;
      Head stored = head;
      if (encoding.rotates) rotate_head(stored.key.data(), 64);
      stored = round(geometry, stored);
      if (encoding.rotates) rotate_head(stored.key.data(), 64);
      for (std::size_t i = 0; i < 64; ++i) squares += std::pow(stored.key[i] - head.key[i], 2);
    }
    const double error = std::sqrt(squares / (29 * 64));
    EXPECT_LT(error, encoding.name == "int4" ? 0.13 : 0.032) << encoding.name;
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
    const bool narrow = encoding.name == "fp8_e4m3", wide = encoding.name != "f16" && !narrow;
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

TEST(CodeGroups, HaveAScaleForEach128Dimensions) {
  std::vector<float> x(160, 0.5f), stored(160);
  x[3] = -14.0f, x[130] = 2.0f;
  std::int8_t codes[160];
  std::byte scales[8];
  encode_groups(x.data(), 160, 7, codes, scales);
  EXPECT_EQ(codes[3], -7);
  EXPECT_EQ(codes[130], 7);
  decode_groups(codes, scales, 160, stored.data());
  EXPECT_EQ(stored[3], -14.0f);
  EXPECT_EQ(stored[0], 0.0f);
  EXPECT_EQ(stored[130], 2.0f);
  EXPECT_NEAR(stored[131], 0.5f, 1.0f / 7);
}

TEST(CodeGroups, TakeNumbersOfAnySize) {
  std::int8_t codes[32];
  std::byte scales[4];
  std::vector<float> x(32, 0.0f), stored(32);
  for (const float largest : {0.0f, 1e-38f, 1e-20f, 3e38f}) {
    x[5] = largest;
    encode_groups(x.data(), 32, 15, codes, scales);
    decode_groups(codes, scales, 32, stored.data());
    EXPECT_NEAR(stored[5], largest, largest * 1e-6f + 1e-30f);
    EXPECT_EQ(stored[6], 0.0f);
  }
}

class CodeBytes : public testing::Test {
 protected:
  static constexpr std::size_t kDims = 96;
  std::uint8_t codes_[kDims], back_[kDims] = {};
  void SetUp() override {
    for (std::size_t i = 0; i < kDims; ++i) codes_[i] = static_cast<std::uint8_t>((i * 7 + i / 9) % 64);
  }
  void expect_lowest_bits(int bits) const {
    for (std::size_t i = 0; i < kDims; ++i) EXPECT_EQ(back_[i], codes_[i] & ((1 << bits) - 1)) << i;
  }
};

TEST_F(CodeBytes, KeysOfSixBitsComeBack) {
  std::byte nibbles[kDims / 2], pairs[kDims / 4];
  pack_key_nibbles(codes_, kDims, nibbles);
  pack_key_pairs(codes_, kDims, pairs);
  unpack_key_nibbles(nibbles, kDims, back_);
  unpack_key_pairs(pairs, kDims, back_);
  expect_lowest_bits(6);
}

TEST_F(CodeBytes, ValuesOfFiveBitsComeBack) {
  std::byte nibbles[kDims / 2], bits[kDims / 8];
  pack_value_nibbles(codes_, kDims, nibbles);
  pack_value_bits(codes_, kDims, bits);
  unpack_value_nibbles(nibbles, kDims, back_);
  unpack_value_bits(bits, kDims, back_);
  expect_lowest_bits(5);
}

TEST(KvWriter, MakesTheScaleNanWhenAValueIsNotFinite) {
  for (const Isa isa : supported_isas()) {
    const KernelSet kernels = select_kernels(isa);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      for (const std::size_t at : {0u, 13u, 31u}) {
        std::vector<float> x = normal_values(32, 5);
        x[at] = bad;
        std::vector<std::int8_t> codes(32);
        float scale = 0.0f;
        kernels.to_int8(x.data(), 32, codes.data(), &scale);
        EXPECT_TRUE(std::isnan(scale)) << to_string(isa);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
