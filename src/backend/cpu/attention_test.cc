// Attention of every encoding, layout and instruction set against float64 and against each other, over scattered pages
// full of NaN where nothing was written.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "backend/cpu/testing/attention_fixture.h"

namespace millrace::backend::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Values of another size than keys: as DeepSeek and MiMo-V2 have them, and with every padding on either side.
constexpr std::pair<std::int64_t, std::int64_t> kTwoSizes[] = {{192, 128}, {64, 96}, {20, 12},  {12, 20}, {96, 64},
                                                               {256, 1},   {1, 256}, {33, 100}, {17, 16}, {128, 250}};

// What some families have beside that: each alone, and all together; across the borders of chunks, tiles and splits,
// and several kv heads in a task.
std::vector<Shape> extra_shapes() {
  using Sizes = std::array<std::int64_t, 4>;  // length, rows, window, chunk
  std::vector<Shape> all;
  const auto add = [&](Shape shape, const Sizes& sizes) {
    shape.head_dim = 20, shape.value_dim = 12, shape.group = 3;
    shape.length = sizes[0], shape.n_rows = sizes[1], shape.window = sizes[2], shape.chunk = sizes[3];
    all.push_back(shape);
  };
  for (const Shape& one : {Shape{.softcap = 0.7f}, Shape{.alibi = true}, Shape{.sinks = true}}) {
    for (const Sizes& sizes : {Sizes{77, 5, 0, 0}, {1100, 9, 0, 0}, {1700, 1, 0, 0}}) add(one, sizes);
  }
  for (const Sizes& sizes : {Sizes{600, 1, 0, 0},
                             {1700, 1, 0, 0},
                             {1100, 40, 0, 0},
                             {90, 40, 1, 0},
                             {130, 60, 40, 0},
                             {600, 1, 0, 37},
                             {130, 60, 0, 32},
                             {1100, 80, 0, 512},
                             {600, 60, 20, 33}}) {
    add({.softcap = 1.5f, .alibi = true, .sinks = true}, sizes);
  }
  for (const std::int64_t chunk : {1, 7, 32, 33, 512, 513}) {
    for (const std::int64_t rows : {1, 70}) add({}, {600, rows, 0, chunk});
    add({}, {1030, 20, 0, chunk});
    add({}, {300, 90, 20, chunk});
  }
  // Large heads, and groups that are a task of their own or several.
  for (const auto& [head_dim, value_dim] :
       {std::pair<std::int64_t, std::int64_t>{288, 288}, {576, 512}, {80, 512}, {272, 16}}) {
    for (const bool extra : {false, true}) {
      Shape s{.head_dim = head_dim, .group = 3, .length = 77, .n_rows = 5, .value_dim = value_dim};
      s.kv_heads = 1;
      if (extra) s.softcap = 1.0f, s.alibi = s.sinks = true;
      all.push_back(s);
      s.length = 600, s.n_rows = 1, s.window = extra ? 40 : 0;
      all.push_back(s);
    }
  }
  for (const std::int64_t group : {71, 128, 200}) {
    Shape s{.head_dim = 20, .group = group, .length = 60, .n_rows = 5, .value_dim = 24};
    all.push_back(s);
    s.length = 1100, s.n_rows = 1, s.alibi = s.sinks = true;
    all.push_back(s);
  }
  return all;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::int64_t head_dim : {16, 64, 80, 96, 112, 128, 256}) {
    for (const std::int64_t group : {1, 3, 4, 8}) all.push_back({head_dim, group, 77, 5});
  }
  for (const std::int64_t head_dim : {1, 2, 8, 20, 33, 40, 72, 100, 120, 250}) {  // padded
    all.push_back({head_dim, 1, 77, 5});
    all.push_back({head_dim, 3, 600, 1});
    all.push_back({head_dim, 4, 130, 40, 40});
  }
  for (const auto& [head_dim, value_dim] : kTwoSizes) {
    all.push_back({.head_dim = head_dim, .group = 1, .length = 77, .n_rows = 5, .value_dim = value_dim});
    all.push_back({.head_dim = head_dim, .group = 3, .length = 600, .value_dim = value_dim});
    all.push_back(
        {.head_dim = head_dim, .group = 4, .length = 130, .n_rows = 40, .window = 40, .value_dim = value_dim});
  }
  for (const std::int64_t length : {1, 31, 32, 33, 511, 512, 513, 1100}) {
    for (const std::int64_t window : {0, 1, 40, 600}) {
      for (const std::int64_t rows : {1, 7, 40}) {
        if (rows <= length) all.push_back({16, 3, length, rows, window});
      }
    }
  }
  for (const Shape& shape : extra_shapes()) all.push_back(shape);
  return all;
}

class Attention : public testing::TestWithParam<const KvEncoding*> {
 protected:
  // How far a row may be off beside float64, as a part of the weighted sum of magnitudes. f32: scores of normal data
  // are off by at most head_dim roundings of |q||k| scale < 10, weights by 2e-7, sums by one rounding a token. bf16: a
  // weight is rounded to 8 bits, and the sum is that of rounded weights. Codes: a query is off by up to 4/254 of its
  // root mean square.
  static double product_error(double of_floats = 0.0) {
    if (GetParam()->product_bytes == 2) return 1.1 / 256;
    if (GetParam()->product_bytes == 4) return of_floats;
    return GetParam()->rotates ? 0.1 : 5e-2;
  }
};

TEST_P(Attention, MatchesFloat64AndReadsNoSlotPastTheEnd) {
  const double relative = product_error();
  for (const Shape& shape : shapes()) {
    const Content content(shape);
    const Reference expected = reference(*GetParam(), content);
    const std::vector<float> out = attend(supported_isas().back(), GetParam(), content);
    const auto width = static_cast<std::size_t>(shape.value_head_dim());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double largest = largest_of_head(expected.magnitude, i, width);
      // What is turned shares its errors with its head. Beside codes, weights are off by 1/510 of the tile's largest.
      const double size = GetParam()->rotates ? largest : expected.magnitude[i];
      const double of_weights = GetParam()->product_bytes == 1 ? largest / 510 : 0.0;
      ASSERT_NEAR(out[i], expected.out[i], 5e-6 + relative * size + of_weights) << describe(shape) << " at " << i;
    }
  }
}

TEST_P(Attention, GivesTheSameBitsOnEveryInstructionSet) {
  for (const Shape& shape : shapes()) {
    const Content content(shape);
    const std::vector<float> expected = attend(Isa::kScalar, GetParam(), content);
    for (const Isa isa : supported_isas()) {
      EXPECT_TRUE(same_bits(expected, attend(isa, GetParam(), content))) << to_string(isa) << " " << describe(shape);
    }
  }
}

// Keys whose products, values whose weighted sums, queries whose rounded parts are below 2^-126: what one instruction
// takes for zero all do.
TEST_P(Attention, GivesTheSameBitsOnEveryInstructionSetFromDenormals) {
  Content content({.head_dim = 80, .group = 3, .length = 1100, .n_rows = 9});
  std::mt19937 random(6);
  const auto shrink = [&](std::vector<float>& x, int lowest, int highest) {
    for (float& v : x)
      v = std::ldexp(v, -lowest - static_cast<int>(random() % static_cast<unsigned>(highest - lowest)));
  };
  for (const bool tiny_scores : {false, true}) {
    Content tiny = content;
    shrink(tiny.values, 118, 130);
    if (tiny_scores) {
      shrink(tiny.keys, 60, 66);
      shrink(tiny.q, 58, 66);
    }
    const std::vector<float> expected = attend(Isa::kScalar, GetParam(), tiny);
    for (const Isa isa : supported_isas()) {
      EXPECT_TRUE(same_bits(expected, attend(isa, GetParam(), tiny))) << to_string(isa) << " " << tiny_scores;
    }
  }
}

TEST_P(Attention, GivesTheSameBitsInEveryLayoutAndPageSize) {
  const Isa best = supported_isas().back();
  for (const Shape& shape : shapes()) {
    const Content content(shape);
    const std::vector<float> expected = attend(best, GetParam(), content);
    for (const KvLayout& layout : all_kv_layouts()) {
      for (const std::int64_t block : {layout.block_tokens, std::int64_t{8}, std::int64_t{64}}) {
        if (!layout.fits(block)) continue;
        const std::vector<float> out = attend({best, GetParam(), &layout, block}, content);
        EXPECT_TRUE(same_bits(expected, out)) << layout.name << " of " << block << " " << describe(shape);
      }
    }
  }
}

TEST_P(Attention, ComputesARowAloneAsInAChunkAndBesideOthers) {
  for (const Shape& shape : shapes()) {
    Shape longer = shape, longest = shape;
    longer.length = 130, longer.n_rows = 33;
    longest.length = 700, longest.n_rows = 1;
    const Content content(shape), other(longer, 7), third(longest, 8);
    Store store({supported_isas().back(), GetParam(), &paged32(), 32}, {&other, &content, &third});
    const auto together = store.attend(3);
    EXPECT_TRUE(same_bits(together[1], attend(supported_isas().back(), GetParam(), content))) << describe(shape);
    EXPECT_EQ(together, store.attend(1, 1)) << describe(shape);
    EXPECT_EQ(together, store.attend(64, 4)) << describe(shape);
  }
}

TEST_P(Attention, ComputesALongPrefillAsManyShortOnes) {
  const Content content({.head_dim = 64, .group = 4, .length = 1290, .n_rows = 300});
  Store store({supported_isas().back(), GetParam(), &paged32(), 32}, {&content});
  const auto whole = store.attend(2);
  for (const std::int64_t rows : {1, 24, 25, 128}) EXPECT_EQ(whole, store.attend(2, rows)) << rows;
}

// What lies behind a head in the output is another head, which may be another worker's: a task writes its own heads
// only, whole.
TEST_P(Attention, WritesNothingBehindAHead) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1},   {8, 8},   {33, 33},  {100, 100},
                                                         {20, 12}, {12, 20}, {100, 33}, {16, 33}};
  for (const auto& [head_dim, value_dim] : sizes) {
    for (const std::int64_t length : {90, 1100}) {
      const Content content({.head_dim = head_dim, .group = 3, .length = length, .n_rows = 5, .value_dim = value_dim});
      const auto numbers = static_cast<std::size_t>(5 * content.heads() * value_dim);
      for (const Isa isa : supported_isas()) {
        Store store({isa, GetParam(), &paged32(), 32}, {&content});
        EXPECT_EQ(store.writers_of_each_number(8), std::vector<int>(numbers, 1))
            << to_string(isa) << " " << describe(content.shape);
      }
    }
  }
  for (const std::int64_t group : {71, 128, 200}) {
    for (const std::int64_t length : {40, 600}) {
      const Content content({.head_dim = 20, .group = group, .length = length, .n_rows = 5, .value_dim = 12});
      const std::vector<int> once(static_cast<std::size_t>(5 * content.heads() * 12), 1);
      Store store({supported_isas().back(), GetParam(), &paged32(), 32}, {&content});
      EXPECT_EQ(store.writers_of_each_number(8), once) << describe(content.shape);
    }
  }
}

// Zeros behind a head are all that pages add to it.
TEST_P(Attention, PagesHoldAHeadWithZerosBehindItInEveryLayout) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1}, {20, 20}, {100, 100}, {20, 12}, {12, 20}, {100, 16}};
  for (const auto& [head_dim, value_dim] : sizes) {
    const Shape shape{.head_dim = head_dim, .group = 3, .length = 77, .n_rows = 5, .value_dim = value_dim};
    const Content content(shape);
    const KvGeometry geometry = geometry_for(*GetParam(), shape);
    const Content longer = content.with_sizes(geometry.padded_key_dim(), geometry.padded_value_dim());
    for (const KvLayout& layout : all_kv_layouts()) {
      for (const Isa isa : supported_isas()) {
        Store store({isa, GetParam(), &layout, layout.block_tokens}, {&content});
        Store expected({isa, GetParam(), &layout, layout.block_tokens}, {&longer});
        EXPECT_EQ(store.content_of_pages(), expected.content_of_pages()) << layout.name << " " << to_string(isa);
      }
    }
  }
}

// Values with zeros up to the size of keys: the same bits, and zeros behind them, up to rounding where heads were
// turned.
TEST_P(Attention, ComputesSmallerValuesAsThoseThatZerosFillUp) {
  for (const auto& [head_dim, value_dim] : kTwoSizes) {
    if (value_dim > head_dim) continue;
    const KvGeometry sizes{.encoding = GetParam(), .key_dim = head_dim, .value_dim = value_dim};
    if (sizes.rotates() && sizes.padded_key_dim() != sizes.padded_value_dim()) continue;  // another rotation
    const Content content(
        {.head_dim = head_dim, .group = 3, .length = 600, .n_rows = 30, .window = 550, .value_dim = value_dim});
    const Content filled = content.with_sizes(head_dim, head_dim);
    for (const Isa isa : supported_isas()) {
      const std::vector<float> out = attend(isa, GetParam(), content);
      std::vector<float> expected = attend(isa, GetParam(), filled);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (!sizes.rotates() || static_cast<std::int64_t>(i) % head_dim < value_dim) continue;
        expected[i] = 0.0f;
      }
      EXPECT_TRUE(same_bits(Content::with_zeros(out, value_dim, head_dim), expected))
          << to_string(isa) << " " << describe(content.shape);
    }
  }
}

// A row may see its sequence up to itself: what comes later, and what other sequences hold, must not even be multiplied
// by zero.
TEST_P(Attention, KeepsNanAndInfinityFromRowsThatDoNotSeeThem) {
  for (const Isa isa : supported_isas()) {
    for (const auto& [window, value_dim, chunk] :
         {std::array<std::int64_t, 3>{0, 80, 0}, {20, 80, 0}, {0, 100, 0}, {20, 24, 0}, {0, 80, 43}, {20, 24, 64}}) {
      Shape shape{.head_dim = 80, .group = 3, .length = 140, .n_rows = 40, .window = window, .value_dim = value_dim};
      shape.chunk = chunk;
      shape.alibi = shape.sinks = chunk > 0;
      shape.softcap = chunk == 43 ? 5.0f : 0.0f;
      const Content clean(shape), neighbour(shape, 9);
      Store expected_store({isa, GetParam(), &paged32(), 32}, {&clean, &neighbour});
      const auto expected = expected_store.attend();
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        for (const bool in_keys : {false, true}) {
          const std::int64_t token = 120, width = shape.kv_heads * (in_keys ? shape.head_dim : value_dim);
          Content dirty = clean;
          (in_keys ? dirty.keys : dirty.values)[static_cast<std::size_t>(token * width + 3)] = bad;  // kv head 0
          Store store({isa, GetParam(), &paged32(), 32}, {&dirty, &neighbour});
          const auto out = store.attend();
          EXPECT_TRUE(same_bits(expected[1], out[1]));
          const std::int64_t heads = shape.kv_heads * shape.group;
          for (std::int64_t r = 0; r < shape.n_rows; ++r) {
            const std::int64_t position = dirty.first_position() + r;
            const bool sees = token <= position && token >= dirty.first_seen(position);
            for (std::int64_t h = 0; h < heads; ++h) {
              const auto at = static_cast<std::size_t>((r * heads + h) * value_dim);
              const bool hit = sees && h < shape.group;
              const std::span<const float> row(out[0].data() + at, static_cast<std::size_t>(value_dim));
              const std::span<const float> before(expected[0].data() + at, row.size());
              if (!hit) {
                EXPECT_TRUE(same_bits(before, row)) << to_string(isa) << " row " << r << " head " << h;
              } else if (std::isnan(bad) || !in_keys) {  // an infinite score may also be minus infinity: weight 0
                EXPECT_FALSE(std::isfinite(row[3])) << to_string(isa) << " row " << r << " head " << h;
              }
            }
          }
        }
      }
    }
  }
}

// The maximum moves late and far: scores grow along the sequence, then one key dwarfs all others.
TEST_P(Attention, FollowsScoresThatKeepGrowing) {
  Content content({.head_dim = 64, .group = 4, .length = 600, .n_rows = 30});
  for (std::int64_t t = 0; t < content.shape.length; ++t) {
    for (std::int64_t i = 0; i < content.shape.kv_heads * 64; ++i) {
      content.keys[static_cast<std::size_t>(t * content.shape.kv_heads * 64 + i)] *=
          t == 580 ? 30.0f : 0.02f * static_cast<float>(t);
    }
  }
  const Reference expected = reference(*GetParam(), content);
  const std::vector<float> out = attend(Isa::kScalar, GetParam(), content);
  // int8 queries are off by a part of a hundredth, which scores of hundreds multiply: only bits are compared.
  for (std::size_t i = 0; i < out.size() && GetParam()->product_bytes > 1; ++i) {
    const double relative = product_error(1e-5);
    ASSERT_NEAR(out[i], expected.out[i], 2e-5 + relative * expected.magnitude[i]) << i;
  }
  for (const Isa isa : supported_isas()) EXPECT_TRUE(same_bits(out, attend(isa, GetParam(), content)));
  Store store({supported_isas().back(), GetParam(), &paged32(), 32}, {&content});
  EXPECT_EQ(store.attend(2), store.attend(2, 1));
}

// Scores of hundreds, all of which the cap makes one of two: what is left of them decides.
TEST_P(Attention, CapsScoresHoweverLargeTheyAre) {
  Content content({.head_dim = 64, .group = 4, .length = 600, .n_rows = 30, .softcap = 3.0f});
  for (float& x : content.q) x *= 300.0f;
  const Reference expected = reference(*GetParam(), content);
  const std::vector<float> out = attend(Isa::kScalar, GetParam(), content);
  const double relative = product_error(1e-5);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_NEAR(out[i], expected.out[i], 2e-5 + relative * expected.magnitude[i]) << i;
  }
  for (const Isa isa : supported_isas()) EXPECT_TRUE(same_bits(out, attend(isa, GetParam(), content)));
}

// A sink far above all scores takes all the weight, one far below none of it: the bits of no sink.
TEST_P(Attention, GivesASinkTheWeightOfItsScore) {
  for (const std::int64_t length : {60, 1100}) {  // merged by the task, and by the last of several
    for (const std::int64_t window : {0, 1}) {
      Content content({.head_dim = 64, .group = 3, .length = length, .n_rows = 4, .window = window, .sinks = true});
      Content none = content;
      none.sinks.clear();
      for (const Isa isa : supported_isas()) {
        std::ranges::fill(content.sinks, 1e4f);
        for (const float x : attend(isa, GetParam(), content)) ASSERT_EQ(x, 0.0f);
        for (const float low : {-1e4f, kMinusInfinity}) {
          std::ranges::fill(content.sinks, low);
          EXPECT_TRUE(same_bits(attend(isa, GetParam(), content), attend(isa, GetParam(), none))) << low;
        }
      }
    }
  }
}

// Far tokens lose all their weight, whatever their scores, and what they hold does not show.
TEST_P(Attention, ForgetsFarTokensWithASteepSlope) {
  Content content({.head_dim = 64, .group = 4, .length = 1100, .n_rows = 30, .alibi = true});
  std::ranges::fill(content.alibi, 4.0f);
  Content near = content;
  near.shape.window = 60;  // slopes of 4 leave weights of 2^-340 there
  for (const Isa isa : supported_isas()) {
    const std::vector<float> out = attend(isa, GetParam(), content), expected = attend(isa, GetParam(), near);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected[i]) << to_string(isa) << " at " << i;
  }
}

std::vector<const KvEncoding*> every_encoding() {
  std::vector<const KvEncoding*> all;
  for (const KvEncoding& encoding : all_kv_encodings()) all.push_back(&encoding);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, Attention, testing::ValuesIn(every_encoding()),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace millrace::backend::cpu
