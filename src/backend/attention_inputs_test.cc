// From a residual to queries and to keys and values in pages, against float64: norms of heads in every form, clipping,
// whole, partial and no rotation, factors of queries. And from there to attention, with all that families have of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/testing/device_rows.h"
#include "backend/testing/test_backend.h"
#include "base/cpu.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kModelIn = 24, kHeads = 6, kKvHeads = 2, kKeyDim = 20, kValueDim = 12, kPage = 32;
constexpr std::int64_t kQueries = kHeads * kKeyDim, kKeys = kKvHeads * kKeyDim,
                       kQkvWidth = kQueries + kKeys + kKvHeads * kValueDim;
constexpr std::int64_t kFirst = 70;  // position of the first row

constexpr std::int64_t kWindow = 40, kChunk = 48;
constexpr float kScale = 0.2f, kSoftcap = 2.0f;

struct NormForm {
  bool any = false;
  NormKind kind = NormKind::kRms;
  HeadNorm::Over over = HeadNorm::Over::kHead;
  bool own_weights = false;  // of each head
  bool after_rotation = false, bias = false;
};
struct Form {
  const char* name;
  NormForm q_norm = {}, k_norm = {};
  float clip = 0.0f;
  std::int64_t rotated = kKeyDim;
  bool query_scale = false;
};

const NormForm kPerHead{.any = true}, kWhole{.any = true, .over = HeadNorm::Over::kRow},
    kBehind{.any = true, .after_rotation = true},
    kOwn{.any = true, .kind = NormKind::kLayer, .own_weights = true, .bias = true},
    kWholeLayer{.any = true, .kind = NormKind::kLayer, .over = HeadNorm::Over::kRow, .bias = true},
    kOwnBehind{.any = true, .own_weights = true, .after_rotation = true};

const Form kForms[] = {
    {.name = "plain"},
    {.name = "not rotated", .rotated = 0},
    {.name = "partly rotated", .rotated = 6},
    {.name = "clipped", .clip = 1.5f},
    {.name = "a norm of each head", .q_norm = kPerHead, .k_norm = kPerHead},
    {.name = "a norm of queries only", .q_norm = kPerHead},
    {.name = "a norm of keys only", .k_norm = kWhole},
    {.name = "norms of whole rows", .q_norm = kWhole, .k_norm = kWhole},
    {.name = "layer norms of whole rows", .q_norm = kWholeLayer, .k_norm = kWholeLayer},
    {.name = "norms behind rotation", .q_norm = kBehind, .k_norm = kBehind, .rotated = 6},
    {.name = "weights of each head", .q_norm = kOwn, .k_norm = kOwn},
    {.name = "weights of each head behind rotation", .q_norm = kOwnBehind, .k_norm = kOwnBehind},
    {.name = "scaled queries", .query_scale = true},
    {.name = "all", .q_norm = kWhole, .k_norm = kOwnBehind, .clip = 1.0f, .rotated = 10, .query_scale = true},
};

// Everything that a run needs, on the host.
struct Numbers {
  Values weights = random_values(kQkvWidth * kModelIn, 1), bias = random_values(kQkvWidth, 2),
         norm = random_values(kModelIn, 3);
  Values head_weights = random_values(kQueries, 4), head_biases = random_values(kQueries, 5);
  Values slopes = {0.5f, 0.2f, 0.1f, 0.05f, 0.02f, 0.01f}, sinks = {-1.0f, 0.0f, 1.0f, 2.0f, 3.0f, -4.0f};
  std::vector<double> frequencies = {1.0, 0.5, 0.3, 0.2, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01};
};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void exact_norm(const Numbers& numbers, const NormForm& form, std::int64_t head, double* x, std::int64_t n) {
  double mean = 0.0, squares = 0.0;
  for (std::int64_t i = 0; i < n && form.kind == NormKind::kLayer; ++i) mean += x[i] / static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
  const std::int64_t from = form.own_weights ? head * kKeyDim : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = (x[i] - mean) / std::sqrt(squares + 1e-6) * numbers.head_weights[at(from + i)];
    if (form.bias) x[i] += numbers.head_biases[at(from + i)];
  }
}

void exact_rotation(const Numbers& numbers, std::int64_t rotated, std::int64_t position, double* head) {
  const std::int64_t half = rotated / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * numbers.frequencies[at(i)];
    const double a = head[i], b = head[half + i];
    head[i] = a * std::cos(angle) - b * std::sin(angle);
    head[half + i] = b * std::cos(angle) + a * std::sin(angle);
  }
}

void exact_clip(const Form& form, std::int64_t n, double* x) {
  const double clip = form.clip;
  for (std::int64_t i = 0; i < n && clip > 0.0; ++i) x[i] = std::clamp(x[i], -clip, clip);
}

void exact_heads(const Numbers& numbers, const Form& form, const NormForm& norm, std::int64_t heads,
                 std::int64_t position, double* x) {
  const bool whole = norm.any && norm.over == HeadNorm::Over::kRow, each = norm.any && !whole;
  if (whole) exact_norm(numbers, norm, 0, x, heads * kKeyDim);
  exact_clip(form, heads * kKeyDim, x);
  for (std::int64_t h = 0; h < heads; ++h) {
    double* head = x + h * kKeyDim;
    if (each && !norm.after_rotation) exact_norm(numbers, norm, h, head, kKeyDim);
    exact_rotation(numbers, form.rotated, position, head);
    if (each && norm.after_rotation) exact_norm(numbers, norm, h, head, kKeyDim);
  }
}

double exact_query_scale(std::int64_t position) { return 1.0 + 0.3 * std::log(1.0 + std::floor(position / 8.0)); }

// Queries, keys and values of a row.
std::vector<double> exact_row(const Numbers& numbers, const Form& form, const float* x, std::int64_t position) {
  double squares = 0.0;
  for (std::int64_t j = 0; j < kModelIn; ++j) squares += static_cast<double>(x[j]) * x[j] / kModelIn;
  std::vector<double> out;
  for (std::int64_t i = 0; i < kQkvWidth; ++i) {
    double sum = numbers.bias[at(i)];
    for (std::int64_t j = 0; j < kModelIn; ++j) {
      sum += numbers.weights[at(i * kModelIn + j)] * (x[j] / std::sqrt(squares + 1e-5) * numbers.norm[at(j)]);
    }
    out.push_back(sum);
  }
  exact_heads(numbers, form, form.q_norm, kHeads, position, out.data());
  exact_heads(numbers, form, form.k_norm, kKvHeads, position, out.data() + kQueries);
  exact_clip(form, kQkvWidth - kQueries - kKvHeads * kKeyDim, out.data() + kQueries + kKvHeads * kKeyDim);
  for (std::int64_t i = 0; i < kQueries && form.query_scale; ++i) out[at(i)] *= exact_query_scale(position);
  return out;
}

// Queries, keys and values of all rows, as a device computed them: `at_once` rows a step. Takes the attention of the
// rows as well, if it is wanted.
std::vector<Values> computed(const Numbers& numbers, const Form& form, const Values& x, std::int64_t at_once,
                             int threads, const std::string& isa, Values* attended = nullptr) {
  const auto backend = make_test_backend(threads, isa);
  const std::int64_t rows = std::ssize(x) / kModelIn, pages = (kFirst + rows + kPage - 1) / kPage;
  const auto weight = weight_of(*backend, numbers.weights, kModelIn, 0, kQkvWidth);
  const DeviceVector bias = backend->make_vector(numbers.bias), norm = backend->make_vector(numbers.norm);
  const DeviceVector head_weights = backend->make_vector(numbers.head_weights),
                     head_biases = backend->make_vector(numbers.head_biases),
                     slopes = backend->make_vector(numbers.slopes), sinks = backend->make_vector(numbers.sinks);
  const DeviceBuffer mixed = matrix(*backend, Values(at(rows * kHeads * kValueDim)));
  const KvFormat format{
      .encoding = "f32", .block_tokens = kPage, .kv_heads = kKvHeads, .key_dim = kKeyDim, .value_dim = kValueDim};
  const std::size_t page_bytes = backend->kv_page_bytes(format);
  const DeviceBuffer memory = backend->allocate(at(pages) * page_bytes).or_throw(), in = matrix(*backend, x),
                     qkv = matrix(*backend, Values(at(rows * kQkvWidth))),
                     table = matrix(*backend, Values(at(rows * kKeyDim))), scales = matrix(*backend, Values(at(rows)));
  std::vector<std::int32_t> numbers_of_pages(at(pages)), positions(at(rows));
  std::iota(numbers_of_pages.rbegin(), numbers_of_pages.rend(), 0);
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(kFirst));
  backend->rotary_table(positions, {std::span(numbers.frequencies).first(at(form.rotated / 2))},
                        table.view(rows, form.rotated));
  backend->position_scale(positions, {.factor = 0.3, .period = 8.0}, scales.view(rows, 1));

  const auto head_norm = [&](const NormForm& f) {
    return HeadNorm{.norm = {.kind = f.kind,
                             .eps = 1e-6f,
                             .weight = f.any ? head_weights.address() : DeviceAddress(),
                             .bias = f.bias ? head_biases.address() : DeviceAddress()},
                    .over = f.over,
                    .weight_stride = f.own_weights ? kKeyDim : 0,
                    .after_rotation = f.after_rotation};
  };
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const std::int64_t n = std::min(at_once, rows - first);
    const SequenceRows sequence{.n_rows = n, .first_position = kFirst + first, .pages = numbers_of_pages};
    backend->project_attention(
        {.norm = {.weight = norm.address()},
         .qkv = weight.get(),
         .bias = bias.address(),
         .clip = form.clip,
         .q_norm = head_norm(form.q_norm),
         .k_norm = head_norm(form.k_norm),
         .heads = kHeads,
         .cos_sin = form.rotated > 0 ? table.view(rows, form.rotated).row_range(first, n) : DeviceView(),
         .query_scale = form.query_scale ? scales.view(rows, 1).row_range(first, n) : DeviceView(),
         .sequences = std::span(&sequence, 1),
         .kv = {memory.address(), format}},
        in.view(rows, kModelIn).row_range(first, n), qkv.view(rows, kQkvWidth).row_range(first, n));
    backend->attend({.q = qkv.view(rows, kQkvWidth).columns(0, kQueries).row_range(first, n),
                     .sequences = std::span(&sequence, 1),
                     .kv = {memory.address(), format},
                     .heads = kHeads,
                     .scale = kScale,
                     .window = kWindow,
                     .chunk = kChunk,
                     .softcap = kSoftcap,
                     .alibi = slopes.address(),
                     .sinks = sinks.address()},
                    mixed.view(rows, kHeads * kValueDim).row_range(first, n));
    backend->synchronize();
  }
  if (attended != nullptr) *attended = values_of(*backend, mixed.view(rows, kHeads * kValueDim));
  std::vector<Values> out;
  std::vector<std::byte> content(at(pages) * page_bytes);
  backend->download(memory.address(), content);
  const Values made = values_of(*backend, qkv.view(rows, kQkvWidth));
  for (std::int64_t t = 0; t < rows; ++t) {
    Values& row = out.emplace_back(made.begin() + t * kQkvWidth, made.begin() + t * kQkvWidth + kQueries);
    const std::int64_t slot = (kFirst + t) % kPage, page = numbers_of_pages[at((kFirst + t) / kPage)];
    // A tile of f32, see cpu/kv_tile.h: keys [32][32], values [32][16] with zeros behind a head's own.
    const auto head_at = [&](std::int64_t h) {
      return reinterpret_cast<const float*>(content.data() + at(page) * page_bytes) + h * 32 * (32 + 16);
    };
    for (std::int64_t i = 0; i < kKeys; ++i) row.push_back(head_at(i / kKeyDim)[i % kKeyDim * 32 + slot]);
    for (std::int64_t i = 0; i < kKvHeads * kValueDim; ++i) {
      row.push_back(head_at(i / kValueDim)[32 * 32 + slot * 16 + i % kValueDim]);
    }
  }
  return out;
}

TEST(AttentionInputs, MatchFloat64WhateverRowsThreadsAndInstructions) {
  const Numbers numbers;
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.name);
    for (const std::int64_t rows : {1, 7, 95}) {  // the last in blocks, on any of the threads
      const Values x = random_values(rows * kModelIn, 9);
      const std::vector<Values> out = computed(numbers, form, x, rows, 1, "scalar");
      for (std::int64_t t = 0; t < rows; ++t) {
        const std::vector<double> expected = exact_row(numbers, form, x.data() + t * kModelIn, kFirst + t);
        ASSERT_EQ(out[at(t)].size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(out[at(t)][i], expected[i], 2e-5 * std::max(1.0, std::fabs(expected[i])))
              << "row " << t << " at " << i;
        }
      }
      EXPECT_EQ(computed(numbers, form, x, 1, 2, ""), out);
      EXPECT_EQ(computed(numbers, form, x, 5, 1, ""), out);
      for (const int threads : {1, 2, 3}) EXPECT_EQ(computed(numbers, form, x, rows, threads, ""), out) << threads;
      if (has_isa(Isa::kAvx2)) {
        EXPECT_EQ(computed(numbers, form, x, rows, 2, "avx2"), out);
      }
    }
  }
}

// Of a row's query head over rows of the step, and over zeros where there were none before it.
std::vector<double> exact_attention(const Numbers& numbers, const std::vector<Values>& rows, std::int64_t row,
                                    std::int64_t head) {
  const std::int64_t position = kFirst + row, kv_head = head / (kHeads / kKvHeads);
  double sum = std::exp(static_cast<double>(numbers.sinks[at(head)]));
  std::vector<double> out(at(kValueDim), 0.0);
  for (std::int64_t p = 0; p <= position; ++p) {
    if (position - p >= kWindow || p / kChunk != position / kChunk) continue;
    double product = 0.0;
    const float* seen = p < kFirst ? nullptr : rows[at(p - kFirst)].data();
    for (std::int64_t d = 0; d < kKeyDim && seen != nullptr; ++d) {
      product += static_cast<double>(rows[at(row)][at(head * kKeyDim + d)]) * seen[kQueries + kv_head * kKeyDim + d];
    }
    const double capped = kSoftcap * std::tanh(product * kScale / kSoftcap);
    const double weight = std::exp(capped - numbers.slopes[at(head)] * static_cast<double>(position - p));
    sum += weight;
    for (std::int64_t d = 0; d < kValueDim && seen != nullptr; ++d) {
      out[at(d)] += weight * seen[kQueries + kKeys + kv_head * kValueDim + d];
    }
  }
  for (double& v : out) v /= sum;
  return out;
}

TEST(AttentionInputs, AreWhatAttentionTakesWithAllItsOptions) {
  const Numbers numbers;
  const Form& form = kForms[std::size(kForms) - 1];
  const Values x = random_values(95 * kModelIn, 9);
  Values whole, pieces;
  const std::vector<Values> rows = computed(numbers, form, x, 95, 2, "", &whole);
  computed(numbers, form, x, 4, 1, "", &pieces);
  EXPECT_EQ(whole, pieces);
  for (std::int64_t t = 0; t < 95; ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      const std::vector<double> expected = exact_attention(numbers, rows, t, h);
      for (std::int64_t d = 0; d < kValueDim; ++d) {
        ASSERT_NEAR(whole[at((t * kHeads + h) * kValueDim + d)], expected[at(d)], 1e-5) << t << " " << h << " " << d;
      }
    }
  }
}

TEST(AttentionInputs, ANumberThatIsNotOneStaysInItsRow) {
  const Numbers numbers;
  const Form& form = kForms[std::size(kForms) - 1];
  Values x = random_values(9 * kModelIn, 9);
  const std::vector<Values> clean = computed(numbers, form, x, 9, 2, "");
  x[4 * kModelIn + 3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Values> out = computed(numbers, form, x, 9, 2, "");
  for (std::size_t t = 0; t < 9; ++t) {
    if (t != 4) {
      EXPECT_EQ(out[t], clean[t]);
    } else {
      EXPECT_TRUE(std::ranges::all_of(out[t], [](float v) { return std::isnan(v); }));
    }
  }
}

}  // namespace
}  // namespace millrace::backend
