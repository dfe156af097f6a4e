// The block types of GGUF that Python's package gguf reads and we write seldom or never, against what it unpacks
// (tests/golden/make_gguf_types.py).

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/sha256.h"
#include "quant/format.h"

namespace millrace::quant {
namespace {

std::string golden_file(const std::string& name) {
  return read_file(Env::system(), std::string(MILLRACE_TEST_DATA) + "/../golden/gguf_types/" + name, 1 << 20)
      .or_throw();
}

std::string hex(const Sha256Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    for (const int shift : {4, 0}) text += "0123456789abcdef"[byte >> shift & 15];
  }
  return text;
}

std::span<const std::byte> blocks_of(const std::string& file) { return std::as_bytes(std::span(file)); }

TEST(GgufTypes, UnpackToTheBitsOfThePackage) {
  std::istringstream lines(golden_file("sha256.txt"));
  std::string name, digest;
  int types = 0;
  for (; lines >> name >> digest; ++types) {
    const QuantFormat* format = find_format(name);
    ASSERT_NE(format, nullptr) << name;
    const std::string file = golden_file(name + ".bin");
    const std::size_t blocks = file.size() / static_cast<std::size_t>(format->block_bytes);
    ASSERT_EQ(file.size(), blocks * static_cast<std::size_t>(format->block_bytes)) << name;
    std::vector<float> values(blocks * static_cast<std::size_t>(format->block_values));
    format->unpack(blocks_of(file).data(), values);
    for (float& v : values) {
      if (std::isnan(v)) v = std::bit_cast<float>(0x7fc00000u);
    }
    Sha256 sha;
    sha.update(std::as_bytes(std::span(values)));
    EXPECT_EQ(hex(sha.finish()), digest) << name;
  }
  EXPECT_EQ(types, 13);
}

// Ternary blocks come back as they were: the package's own test of its quantizers.
TEST(GgufTypes, PackWhatTheyUnpackTo) {
  for (const char* name : {"tq1_0", "tq2_0", "q2_0", "q1_0"}) {
    const QuantFormat& format = *find_format(name);
    const std::string file = golden_file(std::string(name) + ".bin");
    const auto size = static_cast<std::size_t>(format.block_bytes);
    std::vector<float> values(static_cast<std::size_t>(format.block_values)), again(values.size());
    int compared = 0;
    for (std::size_t at = 0; at < file.size(); at += size) {
      format.unpack(blocks_of(file).data() + at, values);
      const auto largest = std::abs(*std::ranges::max_element(values, {}, [](float v) { return std::abs(v); }));
      if (!(largest < 60000.0f) ||
          std::ranges::any_of(values, [&](float v) { return v != 0.0f && std::abs(v) != largest; }))
        continue;  // not finite, or with a code of 3
      std::vector<std::byte> block(size);
      format.pack(values, block.data());
      format.unpack(block.data(), again);
      EXPECT_EQ(again, values) << name << " block " << at / size;
      ++compared;
    }
    EXPECT_GT(compared, 5) << name;
  }
}

// Half of e4m3's numbers, in the scales of nvfp4: exponents from -7 with a hidden bit, denormals, and no NaN.
TEST(GgufTypes, ScalesOfNvfp4AreHalfOfE4m3Numbers) {
  const QuantFormat& format = *find_format("nvfp4");
  std::vector<float> values(64);
  for (int bits = 0; bits < 256; ++bits) {
    std::vector<std::byte> block(36, std::byte{0x22});  // levels of 2, which makes the halves whole
    for (std::size_t s = 0; s < 4; ++s) block[s] = static_cast<std::byte>(bits);
    format.unpack(block.data(), values);
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    const double number = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    for (const float v : values) ASSERT_EQ(v, bits == 0x7f ? 0.0 : number) << bits;
  }
}

}  // namespace
}  // namespace millrace::quant
