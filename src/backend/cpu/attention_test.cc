// Attention of every page type, layout and instruction set against float64 and against each other, over scattered pages
// full of NaN where nothing was written.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "backend/cpu/attention_plan.h"
#include "backend/cpu/kv_writer.h"
#include "backend/cpu/test_reference.h"

namespace millrace::backend::cpu {
namespace {

struct Shape {
  std::int64_t head_dim, group, length, n_rows = 1, window = 0;
  std::int64_t kv_heads = 2;
};

std::string describe(const Shape& s) {
  return fmt::format("head_dim {} group {} length {} rows {} window {}", s.head_dim, s.group, s.length, s.n_rows,
                     s.window);
}

float scale_of(const Shape& s) { return 1.0f / std::sqrt(static_cast<float>(s.head_dim)); }

// What one sequence holds: keys and values [length][K][D], queries of the last n_rows tokens [n_rows][H][D].
struct Content {
  Shape shape;
  std::vector<float> keys, values, q;

  explicit Content(const Shape& s, unsigned seed = 1) : shape(s) {
    const auto size = static_cast<std::size_t>(s.length * s.kv_heads * s.head_dim);
    keys = normal_values(size, seed);
    values = normal_values(size, seed + 100);
    q = normal_values(static_cast<std::size_t>(s.n_rows * s.kv_heads * s.group * s.head_dim), seed + 200);
  }
  // The same numbers in larger heads, zeros behind them.
  Content with_head_dim(std::int64_t head_dim) const {
    Content out = *this;
    out.shape.head_dim = head_dim;
    for (std::vector<float>* of : {&out.keys, &out.values, &out.q}) {
      std::vector<float> heads;
      for (auto head = of->begin(); head != of->end(); head += shape.head_dim) {
        heads.insert(heads.end(), head, head + shape.head_dim);
        heads.resize(heads.size() + static_cast<std::size_t>(head_dim - shape.head_dim), 0.0f);
      }
      *of = heads;
    }
    return out;
  }
  std::int64_t first_position() const { return shape.length - shape.n_rows; }
  std::int64_t first_seen(std::int64_t position) const {
    return shape.window > 0 ? std::max<std::int64_t>(0, position - shape.window + 1) : 0;
  }
};

float round_to(DType type, float x) {
  if (type == DType::kF16) return f16_to_f32(f32_to_f16(x));
  if (type == DType::kBF16) return bf16_to_f32(f32_to_bf16(x));
  return x;
}

// A token of a head as its page keeps it.
void round_token(DType type, float* x, std::int64_t n) {
  if (type != DType::kI8) {
    for (std::int64_t d = 0; d < n; ++d) x[d] = round_to(type, x[d]);
    return;
  }
  float largest = 0.0f;
  for (std::int64_t d = 0; d < n; ++d) largest = std::max(largest, std::fabs(x[d]));
  if (largest == 0.0f) return;
  for (std::int64_t d = 0; d < n; ++d) x[d] = std::nearbyint(x[d] * (127.0f / largest)) * (largest / 127.0f);
}

// float64 of keys and values as rounded; bf16 kernels also round the scaled query. `magnitude`: the weighted sum of
// |values|, which errors of weights are relative to.
struct Reference {
  std::vector<double> out, magnitude;
};
Reference reference(DType type, Content c) {
  const Shape& s = c.shape;
  const std::int64_t dim = s.head_dim, heads = s.kv_heads * s.group;
  for (std::int64_t i = 0; i < s.length * s.kv_heads; ++i) {
    round_token(type, c.keys.data() + i * dim, dim);
    round_token(type, c.values.data() + i * dim, dim);
  }
  Reference result;
  for (std::int64_t r = 0; r < s.n_rows; ++r) {
    const std::int64_t last = c.first_position() + r;
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> weights, row(static_cast<std::size_t>(dim), 0.0), sizes(row);
      for (std::int64_t t = c.first_seen(last); t <= last; ++t) {
        const float* key = c.keys.data() + (t * s.kv_heads + h / s.group) * dim;
        double dot = 0.0;
        for (std::int64_t d = 0; d < dim; ++d) {
          const float x = c.q[static_cast<std::size_t>((r * heads + h) * dim + d)] * (scale_of(s) * 1.44269504f);
          dot += static_cast<double>(type == DType::kBF16 ? round_to(type, x) : x) * static_cast<double>(key[d]);
        }
        weights.push_back(dot);
      }
      const double largest = *std::max_element(weights.begin(), weights.end());
      double sum = 0.0;
      for (double& w : weights) sum += w = std::exp2(w - largest);
      for (std::int64_t t = c.first_seen(last); t <= last; ++t) {
        const double w = weights[static_cast<std::size_t>(t - c.first_seen(last))] / sum;
        const float* value = c.values.data() + (t * s.kv_heads + h / s.group) * dim;
        for (std::int64_t d = 0; d < dim; ++d) {
          row[static_cast<std::size_t>(d)] += w * static_cast<double>(value[d]);
          sizes[static_cast<std::size_t>(d)] += w * std::fabs(static_cast<double>(value[d]));
        }
      }
      result.out.insert(result.out.end(), row.begin(), row.end());
      result.magnitude.insert(result.magnitude.end(), sizes.begin(), sizes.end());
    }
  }
  return result;
}

struct Setup {
  Isa isa;
  DType type;
  const KvLayout* layout;
  std::int64_t block_tokens;
};

// Several sequences in one store of pages, in random order with unused ones between.
class Store {
 public:
  Store(const Setup& setup, const std::vector<const Content*>& contents)
      : kernels_(select_kernels(setup.isa)), contents_(contents) {
    const Shape& shape = contents.front()->shape;
    geometry_ = {.dtype = setup.type,
                 .kv_heads = shape.kv_heads,
                 .head_dim = shape.head_dim,
                 .block_tokens = setup.block_tokens,
                 .layout = setup.layout};
    std::int64_t pages = 1;
    for (const Content* c : contents) pages += 2 * blocks(c->shape.length);
    memory_ = Buffer::allocate(static_cast<std::size_t>(pages) * geometry_.page_bytes()).or_throw();
    std::memset(memory_.data(), 0xff, memory_.size());  // NaN in every type, also as a scale
    std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(3));
    auto next = order.begin();
    for (const Content* c : contents) {
      tables_.emplace_back(next, next + blocks(c->shape.length));
      next += blocks(c->shape.length);
    }
    const KvWriter writer(kernels_, pages_of());
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const Shape& s = contents[i]->shape;
      SequenceRows rows;
      rows.pages = tables_[i];
      for (std::int64_t t = 0; t < s.length; ++t) {
        for (std::int64_t h = 0; h < s.kv_heads; ++h) {
          const std::int64_t at = (t * s.kv_heads + h) * s.head_dim;
          writer.write(rows, t, h, contents[i]->keys.data() + at, contents[i]->values.data() + at);
        }
      }
      // Pages that the window has left behind belong to somebody else by now.
      const std::int64_t seen = contents[i]->first_seen(contents[i]->first_position());
      for (std::int64_t p = 0; (p + 1) * setup.block_tokens <= seen; ++p) {
        tables_[i][static_cast<std::size_t>(p)] = order.back();
      }
    }
  }

  std::vector<std::byte> content_of_pages() const {
    return {memory_.as<std::byte>(), memory_.as<std::byte>() + memory_.size()};
  }

  // How many tasks write each number of the first sequence's output, of which `workers` have work.
  std::vector<int> writers_of_each_number(int workers) {
    const Content& c = *contents_.front();
    const std::int64_t heads = c.shape.kv_heads * c.shape.group, width = heads * geometry_.head_dim;
    constexpr std::int64_t kGap = 16;  // between rows: nobody's
    const SequenceRows sequence{0, c.shape.n_rows, c.first_position(), tables_.front()};
    std::vector<float> q = c.q, out(static_cast<std::size_t>(c.shape.n_rows * (width + kGap)));
    AttendArgs args;
    args.q = TensorView(q.data(), DType::kF32, {c.shape.n_rows, width});
    args.sequences = std::span(&sequence, 1);
    args.kv = pages_of();
    args.heads = heads;
    args.scale = scale_of(c.shape);
    const TensorView with_gaps(out.data(), DType::kF32, {c.shape.n_rows, width + kGap});
    plan_.prepare(kernels_, args, with_gaps.columns(0, width), workers);
    std::vector<float> partials(plan_.partial_bytes() / sizeof(float));
    std::vector<int> writers(q.size(), 0);
    for (std::int64_t t = 0; t < plan_.tasks(); ++t) {
      std::fill(out.begin(), out.end(), std::numeric_limits<float>::infinity());
      plan_.run(t, partials.data(), scratch_.data());
      for (std::int64_t r = 0; r < c.shape.n_rows; ++r) {
        for (std::int64_t i = 0; i < width + kGap; ++i) {
          const bool written = std::isfinite(out[static_cast<std::size_t>(r * (width + kGap) + i)]);
          if (i < width) writers[static_cast<std::size_t>(r * width + i)] += written;
          EXPECT_FALSE(written && i >= width) << "row " << r << " column " << i << " of " << width;
        }
      }
    }
    return writers;
  }

  // All sequences in one step, or (rows_at_once > 0) each in pieces of that many rows in steps of its own.
  std::vector<std::vector<float>> attend(int workers = 1, std::int64_t rows_at_once = 0) {
    std::vector<float> q, out;
    std::vector<SequenceRows> all;
    const std::int64_t width = contents_.front()->shape.kv_heads * contents_.front()->shape.group * geometry_.head_dim;
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      const Content& c = *contents_[i];
      all.push_back({static_cast<std::int64_t>(q.size()) / width, c.shape.n_rows, c.first_position(), tables_[i]});
      q.insert(q.end(), c.q.begin(), c.q.end());
    }
    out.assign(q.size(), -1.0f);
    const std::int64_t rows = static_cast<std::int64_t>(q.size()) / width;
    AttendArgs args;
    args.q = TensorView(q.data(), DType::kF32, {rows, width});
    args.kv = pages_of();
    args.heads = contents_.front()->shape.kv_heads * contents_.front()->shape.group;
    args.scale = scale_of(contents_.front()->shape);
    args.window = contents_.front()->shape.window;
    const TensorView out_view(out.data(), DType::kF32, {rows, width});
    if (rows_at_once == 0) {
      args.sequences = all;
      run(args, out_view, workers);
    } else {
      for (const SequenceRows& s : all) {
        for (std::int64_t r = 0; r < s.n_rows; r += rows_at_once) {
          SequenceRows piece = s;
          piece.first_row += r;
          piece.first_position += r;
          piece.n_rows = std::min(rows_at_once, s.n_rows - r);
          args.sequences = std::span(&piece, 1);
          run(args, out_view, workers);
        }
      }
    }
    std::vector<std::vector<float>> results;
    for (const SequenceRows& s : all) {
      results.emplace_back(out.begin() + s.first_row * width, out.begin() + (s.first_row + s.n_rows) * width);
    }
    return results;
  }

 private:
  std::int64_t blocks(std::int64_t tokens) const {
    return (tokens + geometry_.block_tokens - 1) / geometry_.block_tokens;
  }
  KvPages pages_of() const { return {memory_.data(), geometry_}; }
  // Tasks from the last to the first: the order must not matter.
  void run(const AttendArgs& args, TensorView out, int workers) {
    plan_.prepare(kernels_, args, out, workers);
    std::vector<float> partials(plan_.partial_bytes() / sizeof(float));
    for (std::int64_t t = plan_.tasks(); t-- > 0;) plan_.run(t, partials.data(), scratch_.data());
  }

  KernelSet kernels_;
  std::vector<const Content*> contents_;
  KvGeometry geometry_;
  Buffer memory_;
  Buffer scratch_ = Buffer::allocate(attend_scratch_bytes(kMaxHeadDim)).or_throw();
  std::vector<std::vector<std::int32_t>> tables_;
  AttentionPlan plan_;
};

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvxVnni, Isa::kAvx512Vnni, Isa::kAvx512Bf16}) {
    if (has_isa(isa)) isas.push_back(isa);
  }
  return isas;
}

const KvLayout& paged32() { return *find_kv_layout("paged32"); }

std::vector<float> attend(const Setup& setup, const Content& content) { return Store(setup, {&content}).attend()[0]; }
std::vector<float> attend(Isa isa, DType type, const Content& content) {
  return attend({isa, type, &paged32(), paged32().block_tokens}, content);
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
  for (const std::int64_t length : {1, 31, 32, 33, 511, 512, 513, 1100}) {
    for (const std::int64_t window : {0, 1, 40, 600}) {
      for (const std::int64_t rows : {1, 7, 40}) {
        if (rows <= length) all.push_back({16, 3, length, rows, window});
      }
    }
  }
  return all;
}

class Attention : public testing::TestWithParam<DType> {};

// f32 and f16: scores of normal data are off by at most head_dim roundings of |q||k| scale < 10, weights by 2e-7, sums
// by one rounding a token. bf16: a weight is rounded to 8 bits, and the sum is that of rounded weights. int8: a
// query is off by up to 4/254 of its root mean square, a weight by 1/32766 of the tile's largest.
TEST_P(Attention, MatchesFloat64AndReadsNoSlotPastTheEnd) {
  const double relative = GetParam() == DType::kBF16 ? 1.1 / 256 : GetParam() == DType::kI8 ? 5e-2 : 0.0;
  for (const Shape& shape : shapes()) {
    const Content content(shape);
    const Reference expected = reference(GetParam(), content);
    const std::vector<float> out = attend(supported_isas().back(), GetParam(), content);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out[i], expected.out[i], 5e-6 + relative * expected.magnitude[i]) << describe(shape) << " at " << i;
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
    const Content content(shape), other({shape.head_dim, shape.group, 130, 33, shape.window}, 7),
        third({shape.head_dim, shape.group, 700, 1, shape.window}, 8);
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
  for (const std::int64_t head_dim : {1, 8, 33, 100}) {
    for (const std::int64_t length : {90, 1100}) {
      const Content content({.head_dim = head_dim, .group = 3, .length = length, .n_rows = 5});
      for (const Isa isa : supported_isas()) {
        Store store({isa, GetParam(), &paged32(), 32}, {&content});
        EXPECT_EQ(store.writers_of_each_number(8), std::vector<int>(content.q.size(), 1))
            << to_string(isa) << " " << describe(content.shape);
      }
    }
  }
}

// Zeros behind a head are all that pages add to it.
TEST_P(Attention, PagesHoldAHeadWithZerosBehindItInEveryLayout) {
  for (const std::int64_t head_dim : {1, 20, 100}) {
    const Shape shape{.head_dim = head_dim, .group = 3, .length = 77, .n_rows = 5};
    const Content content(shape);
    const Content longer = content.with_head_dim(padded_head_dim(head_dim));
    for (const KvLayout& layout : all_kv_layouts()) {
      for (const Isa isa : supported_isas()) {
        Store store({isa, GetParam(), &layout, layout.block_tokens}, {&content});
        Store expected({isa, GetParam(), &layout, layout.block_tokens}, {&longer});
        EXPECT_EQ(store.content_of_pages(), expected.content_of_pages()) << layout.name << " " << to_string(isa);
      }
    }
  }
}

// A row may see its sequence up to itself: what comes later, and what other sequences hold, must not even be multiplied
// by zero.
TEST_P(Attention, KeepsNanAndInfinityFromRowsThatDoNotSeeThem) {
  for (const Isa isa : supported_isas()) {
    for (const std::int64_t window : {0, 20}) {
      const Shape shape{.head_dim = 80, .group = 3, .length = 140, .n_rows = 40, .window = window};
      const Content clean(shape), neighbour(shape, 9);
      Store expected_store({isa, GetParam(), &paged32(), 32}, {&clean, &neighbour});
      const auto expected = expected_store.attend();
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        for (const bool in_keys : {false, true}) {
          const std::int64_t token = 120, width = shape.kv_heads * shape.head_dim;
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
              const auto at = static_cast<std::size_t>((r * heads + h) * shape.head_dim);
              const bool hit = sees && h < shape.group;
              const std::span<const float> row(out[0].data() + at, static_cast<std::size_t>(shape.head_dim));
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
  const Reference expected = reference(GetParam(), content);
  const std::vector<float> out = attend(Isa::kScalar, GetParam(), content);
  // int8 queries are off by a part of a hundredth, which scores of hundreds multiply: only bits are compared.
  for (std::size_t i = 0; i < out.size() && GetParam() != DType::kI8; ++i) {
    const double relative = GetParam() == DType::kBF16 ? 1.1 / 256 : 1e-5;
    ASSERT_NEAR(out[i], expected.out[i], 2e-5 + relative * expected.magnitude[i]) << i;
  }
  for (const Isa isa : supported_isas()) EXPECT_TRUE(same_bits(out, attend(isa, GetParam(), content)));
  Store store({supported_isas().back(), GetParam(), &paged32(), 32}, {&content});
  EXPECT_EQ(store.attend(2), store.attend(2, 1));
}

INSTANTIATE_TEST_SUITE_P(All, Attention, testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kI8),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

// A query with one value that dwarfs the others takes a second term, which keeps them.
TEST(AttentionInt8, KeepsSmallValuesOfAQueryBesideALargeOne) {
  Content content({.head_dim = 64, .group = 4, .length = 300, .n_rows = 9});
  for (std::size_t i = 0; i < content.q.size(); i += 64) content.q[i] = 40.0f;
  for (std::size_t i = 0; i < content.keys.size(); i += 64) content.keys[i] = 0.0f;
  const Reference expected = reference(DType::kI8, content);
  for (const Isa isa : supported_isas()) {
    const std::vector<float> out = attend(isa, DType::kI8, content);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out[i], expected.out[i], 1e-5 + 2e-3 * expected.magnitude[i]) << to_string(isa) << " at " << i;
    }
  }
}

// What decides is the root mean square over the head's own dimensions, without the zeros behind them.
TEST(AttentionInt8, TakesOneTermForAnOrdinaryQueryOfAPaddedHead) {
  Content content({.head_dim = 20, .group = 4, .length = 300, .n_rows = 9});
  for (std::size_t i = 0; i < content.q.size(); ++i) content.q[i] = i % 20 == 0 ? 1.0f : i % 2 == 0 ? 0.15f : -0.15f;
  Content rounded = content;  // to what one term keeps
  for (float& x : rounded.q) x = std::nearbyint(x * 127.0f) / 127.0f;
  for (const Isa isa : supported_isas()) {
    EXPECT_TRUE(same_bits(attend(isa, DType::kI8, content), attend(isa, DType::kI8, rounded))) << to_string(isa);
  }
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
