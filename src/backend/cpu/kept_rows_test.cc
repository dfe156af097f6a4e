#include "backend/cpu/kept_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/testing/attention_fixture.h"
#include "backend/testing/device_rows.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend::cpu {
namespace {

constexpr char kOrder = 0, kOther = 1;  // two addresses

class KeptRowsTest : public testing::Test {
 protected:
  // Whether the rows had to be put in order for this call.
  bool arranged(std::uint64_t contents, std::int64_t first, const char& order = kOrder) {
    Activations x;
    x.k = kGroup;
    x.rows = x.stored_rows = 1024;
    x.groups = groups_;
    x.contents = contents;
    bool called = false;
    const std::byte* memory = kept_.get(x, first, 16, order, 64, [&](std::byte* out) {
      called = true;
      *out = static_cast<std::byte>(++times_);
    });
    last_ = std::to_integer<int>(*memory);
    return called;
  }
  Int8Group groups_[1] = {};  // only its address is used
  KeptRows kept_;
  int times_ = 0, last_ = 0;
};

TEST_F(KeptRowsTest, RowsAreKeptAsLongAsTheirContentsHaveTheNumber) {
  EXPECT_TRUE(arranged(7, 0));
  EXPECT_FALSE(arranged(7, 0));
  EXPECT_EQ(last_, 1);
  EXPECT_TRUE(arranged(8, 0));
  EXPECT_TRUE(arranged(7, 0));  // what was in the memory then is gone
}

TEST_F(KeptRowsTest, ContentsWithoutANumberAreNeverKept) {
  EXPECT_TRUE(arranged(0, 0));
  EXPECT_TRUE(arranged(0, 0));
}

TEST_F(KeptRowsTest, BlocksAndOrdersAreKeptBesideEachOther) {
  EXPECT_TRUE(arranged(7, 0));
  EXPECT_TRUE(arranged(7, 64));
  EXPECT_TRUE(arranged(7, 0, kOther));
  EXPECT_FALSE(arranged(7, 64));
  EXPECT_EQ(last_, 2);
  EXPECT_FALSE(arranged(7, 0));
  EXPECT_EQ(last_, 1);
  EXPECT_FALSE(arranged(7, 0, kOther));
  EXPECT_EQ(last_, 3);
}

TEST_F(KeptRowsTest, MoreBlocksTakeEachOthersPlace) {
  for (std::int64_t block = 0; block <= KeptRows::kBlocks; ++block) EXPECT_TRUE(arranged(7, 64 * block));
  EXPECT_FALSE(arranged(7, 64));
  EXPECT_TRUE(arranged(7, 0));  // the last one took the place of the first
}

// Weights [rows, cols] of small random numbers.
WeightSource random_source(const char* name, std::int64_t rows, std::int64_t cols, unsigned seed) {
  const quant::QuantFormat* format = quant::find_format(name);
  std::vector<std::byte> bytes(format->row_bytes(cols) * static_cast<std::size_t>(rows));
  const Values values = random_values(rows * cols, seed);
  for (std::int64_t r = 0; r < rows; ++r) {
    format->pack(std::span(values).subspan(static_cast<std::size_t>(r * cols), static_cast<std::size_t>(cols)),
                 bytes.data() + static_cast<std::size_t>(r) * format->row_bytes(cols));
  }
  WeightSource source{.name = "w", .format = format, .rows = rows, .cols = cols, .read = {}};
  source.read = [bytes, row_bytes = format->row_bytes(cols)](std::int64_t first, std::int64_t,
                                                             std::span<std::byte> out) {
    std::copy_n(bytes.begin() + first * static_cast<std::int64_t>(row_bytes), out.size(), out.begin());
  };
  return source;
}

constexpr std::int64_t kKeptWidth = 256;

// A feed-forward network of one backend, and its down projection as a product by itself.
struct Network {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Linear> up, down;

  Network(Isa isa, int threads, const char* format) : backend(make_test_backend(threads, std::string(to_string(isa)))) {
    std::vector<WeightSource> halves;
    for (unsigned half : {1u, 2u}) halves.push_back(random_source(format, kKeptWidth, kKeptWidth, half));
    up = backend->make_linear(std::move(halves), MatmulPrecision::kAuto);
    std::vector<WeightSource> one;
    one.push_back(random_source(format, kKeptWidth, kKeptWidth, 3));
    down = backend->make_linear(std::move(one), MatmulPrecision::kAuto);
  }
  Values of(bool whole, const Values& x) const {
    const std::int64_t rows = std::ssize(x) / kKeptWidth;
    const DeviceBuffer in = matrix(*backend, x), memory = matrix(*backend, x);
    const DeviceView out = memory.view(rows, kKeptWidth);
    if (whole) {
      backend->mlp({.up = up.get(), .down = down.get(), .accumulate = false}, in.view(rows, kKeptWidth), out);
    } else {
      backend->linear(*down, {}, in.view(rows, kKeptWidth), out);
    }
    return values_of(*backend, out);
  }
  Values row_by_row(bool whole, const Values& x) const {
    Values out;
    for (auto row = x.begin(); row != x.end(); row += kKeptWidth) {
      const Values alone = of(whole, {row, row + kKeptWidth});
      out.insert(out.end(), alone.begin(), alone.end());
    }
    return out;
  }
};

// One step after the other, of the same size and so in the same memory: rows have the bits that they have alone.
TEST(KeptRowsOfABackend, AreNeverThoseOfAnEarlierOperation) {
  for (const Isa isa : supported_isas()) {
    for (const char* format : {"q4_0", "q8_0", "q4_k", "int8_row"}) {
      for (const int threads : {1, 2}) {
        const Network network(isa, threads, format);
        for (const std::int64_t rows : {17, 64, 81}) {
          for (const bool whole : {false, true}) {
            for (const unsigned step : {7u, 8u}) {
              const Values x = random_values(rows * kKeptWidth, step);
              EXPECT_EQ(network.of(whole, x), network.row_by_row(whole, x))
                  << to_string(isa) << " " << format << ", " << threads << " threads, " << rows << " rows, step "
                  << step << (whole ? " of a network" : " of a product");
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
