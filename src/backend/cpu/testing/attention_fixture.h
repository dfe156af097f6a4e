#pragma once

// For tests: attention over random sequences in pages, and a reference in float64.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "backend/cpu/attention_plan.h"
#include "backend/cpu/head_rotation.h"
#include "backend/cpu/kv_writer.h"
#include "backend/cpu/testing/reference.h"
#include "base/buffer.h"

namespace millrace::backend::cpu {

// Sizes of a sequence: `group` query heads for each KV head, `length` tokens, of which the last `n_rows` are rows of
// the step; window 0 = all tokens are visible. The rest as in AttendArgs.
struct Shape {
  std::int64_t head_dim, group, length, n_rows = 1, window = 0;
  std::int64_t kv_heads = 2;
  std::int64_t value_dim = 0;  // 0 = head_dim
  std::int64_t chunk = 0;
  float softcap = 0.0f;
  bool alibi = false, sinks = false;
  std::int64_t scale_dim = 0;  // scores are divided by its root; 0 = head_dim

  std::int64_t value_head_dim() const { return value_dim > 0 ? value_dim : head_dim; }
};

inline std::string describe(const Shape& s) {
  return fmt::format("head_dim {} value_dim {} group {} length {} rows {} window {} chunk {} softcap {}{}{}",
                     s.head_dim, s.value_head_dim(), s.group, s.length, s.n_rows, s.window, s.chunk, s.softcap,
                     s.alibi ? " alibi" : "", s.sinks ? " sinks" : "");
}

inline float scale_of(const Shape& s) {
  return 1.0f / std::sqrt(static_cast<float>(s.scale_dim > 0 ? s.scale_dim : s.head_dim));
}

// Random contents of one sequence: keys [length][K][Dk], values [length][K][Dv], and queries of the last n_rows tokens,
// [n_rows][H][Dk].
struct Content {
  Shape shape;
  std::vector<float> keys, values, q;
  std::vector<float> alibi, sinks;  // [H], or empty

  explicit Content(const Shape& s, unsigned seed = 1) : shape(s) {
    const auto heads = static_cast<std::size_t>(s.length * s.kv_heads);
    keys = normal_values(heads * static_cast<std::size_t>(s.head_dim), seed);
    values = normal_values(heads * static_cast<std::size_t>(s.value_head_dim()), seed + 100);
    q = normal_values(static_cast<std::size_t>(s.n_rows * s.kv_heads * s.group * s.head_dim), seed + 200);
    for (std::int64_t h = 0; h < s.kv_heads * s.group; ++h) {  // steep slopes and flat ones, high sinks and low ones
      if (s.alibi) alibi.push_back(std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(heads_of(s))));
      if (s.sinks) sinks.push_back(static_cast<float>(h % 5) - 1.5f);
    }
  }
  // The same values in larger heads, padded with zeros.
  Content with_sizes(std::int64_t head_dim, std::int64_t value_dim) const {
    Content out = *this;
    out.shape.head_dim = head_dim, out.shape.value_dim = value_dim;
    out.keys = with_zeros(keys, shape.head_dim, head_dim);
    out.q = with_zeros(q, shape.head_dim, head_dim);
    out.values = with_zeros(values, shape.value_head_dim(), value_dim);
    return out;
  }
  static std::vector<float> with_zeros(const std::vector<float>& x, std::int64_t dim, std::int64_t larger) {
    std::vector<float> heads;
    for (auto head = x.begin(); head != x.end(); head += dim) {
      heads.insert(heads.end(), head, head + dim);
      heads.resize(heads.size() + static_cast<std::size_t>(larger - dim), 0.0f);
    }
    return heads;
  }
  static std::int64_t heads_of(const Shape& s) { return s.kv_heads * s.group; }
  std::int64_t heads() const { return heads_of(shape); }
  std::int64_t first_position() const { return shape.length - shape.n_rows; }
  std::int64_t first_seen(std::int64_t position) const {
    std::int64_t first = position;
    while (first > 0 && (shape.window == 0 || position - (first - 1) < shape.window) &&
           (shape.chunk == 0 || first % shape.chunk != 0)) {
      --first;
    }
    return first;
  }
};

// The pages of a sequence of these sizes.
inline KvGeometry geometry_for(const KvEncoding& encoding, const Shape& s) {
  return {.encoding = &encoding, .kv_heads = s.kv_heads, .key_dim = s.head_dim, .value_dim = s.value_head_dim()};
}

// Rounds the key and the value of a token of a head to what pages of the encoding hold of them.
inline void round_token(const KernelSet& kernels, const KvGeometry& geometry, float* key, float* value) {
  alignas(64) float k[kMaxHeadDim] = {}, v[kMaxHeadDim] = {};
  std::copy_n(key, geometry.key_dim, k);
  std::copy_n(value, geometry.value_dim, v);
  const std::int64_t pk = geometry.padded_key_dim(), pv = geometry.padded_value_dim();
  if (geometry.rotates()) rotate_head(k, pk), rotate_head(v, pv);
  KvTokenBytes bytes;
  geometry.encoding->write(kernels, geometry, k, v, bytes);
  geometry.encoding->read(geometry, bytes.token(), k, v);
  if (geometry.rotates()) rotate_head(k, pk), rotate_head(v, pv);
  std::copy_n(k, geometry.key_dim, key);
  std::copy_n(v, geometry.value_dim, value);
}

// The score of a product, as a power of two.
inline double score_of(const Content& c, double product, std::int64_t head, std::int64_t distance) {
  constexpr double kLn2 = 0.6931471805599453;
  double score = product * kLn2;
  if (c.shape.softcap > 0.0f) score = c.shape.softcap * std::tanh(score / c.shape.softcap);
  if (!c.alibi.empty()) {
    score -= static_cast<double>(c.alibi[static_cast<std::size_t>(head)]) * static_cast<double>(distance);
  }
  return score / kLn2;
}

// Attention in float64 over keys and values as pages hold them; a query that is multiplied in bf16 is rounded too.
// `magnitude` is the weighted sum of absolute values, to which errors of weights are relative. Both are
// [n_rows][H][Dv].
struct Reference {
  std::vector<double> out, magnitude;
};
inline Reference reference(const KvEncoding& encoding, Content c) {
  static const KernelSet kernels = select_kernels(Isa::kScalar);
  const Shape& s = c.shape;
  const std::int64_t dim = s.head_dim, value_dim = s.value_head_dim(), heads = c.heads();
  for (std::int64_t i = 0; i < s.length * s.kv_heads; ++i) {
    round_token(kernels, geometry_for(encoding, s), c.keys.data() + i * dim, c.values.data() + i * value_dim);
  }
  Reference result;
  for (std::int64_t r = 0; r < s.n_rows; ++r) {
    const std::int64_t last = c.first_position() + r;
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> weights, row(static_cast<std::size_t>(value_dim), 0.0), sizes(row);
      for (std::int64_t t = c.first_seen(last); t <= last; ++t) {
        const float* key = c.keys.data() + (t * s.kv_heads + h / s.group) * dim;
        double dot = 0.0;
        for (std::int64_t d = 0; d < dim; ++d) {
          const float x = c.q[static_cast<std::size_t>((r * heads + h) * dim + d)] * (scale_of(s) * 1.44269504f);
          dot += static_cast<double>(encoding.product_bytes == 2 ? bf16_to_f32(f32_to_bf16(x)) : x) *
                 static_cast<double>(key[d]);
        }
        weights.push_back(score_of(c, dot, h, last - t));
      }
      double largest = *std::max_element(weights.begin(), weights.end());
      double sum = 0.0;
      if (!c.sinks.empty()) {
        const double sink = c.sinks[static_cast<std::size_t>(h)] * 1.4426950408889634;
        largest = std::max(largest, sink);
        sum = std::exp2(sink - largest);
      }
      for (double& w : weights) sum += w = std::exp2(w - largest);
      for (std::int64_t t = c.first_seen(last); t <= last; ++t) {
        const double w = weights[static_cast<std::size_t>(t - c.first_seen(last))] / sum;
        const float* value = c.values.data() + (t * s.kv_heads + h / s.group) * value_dim;
        for (std::int64_t d = 0; d < value_dim; ++d) {
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
  const KvEncoding* encoding;
  const KvLayout* layout;
  std::int64_t block_tokens;
};

// Several sequences in one array of pages, in random order. Unused pages hold NaN. All sequences have the head sizes of
// the first; the contents must outlive the store.
class Store {
 public:
  Store(const Setup& setup, const std::vector<const Content*>& contents)
      : kernels_(select_kernels(setup.isa)), contents_(contents) {
    const Shape& shape = contents.front()->shape;
    geometry_ = geometry_for(*setup.encoding, shape);
    geometry_.block_tokens = setup.block_tokens;
    geometry_.layout = setup.layout;
    std::int64_t pages = 1;
    for (const Content* c : contents) pages += 2 * blocks(c->shape.length);
    scratch_ = Buffer::allocate(scratch_bytes() + kMargin).or_throw();
    std::memset(scratch_.data() + scratch_bytes(), 0x5a, kMargin);
    memory_ = Buffer::allocate(static_cast<std::size_t>(pages) * geometry_.page_bytes()).or_throw();
    std::memset(memory_.data(), 0xff, memory_.size());  // NaN in every encoding, also as a scale
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
          const std::int64_t head = t * s.kv_heads + h;
          writer.write(rows, t, h, contents[i]->keys.data() + head * s.head_dim,
                       contents[i]->values.data() + head * s.value_head_dim());
        }
      }
      // Pages in front of the window may belong to other sequences: tables refer to a page of NaN there.
      const std::int64_t seen = contents[i]->first_seen(contents[i]->first_position());
      for (std::int64_t p = 0; (p + 1) * setup.block_tokens <= seen; ++p) {
        tables_[i][static_cast<std::size_t>(p)] = order.back();
      }
    }
  }

  std::vector<std::byte> content_of_pages() const {
    return {memory_.as<std::byte>(), memory_.as<std::byte>() + memory_.size()};
  }

  // The number of tasks that write each value of the first sequence's output, planned for `workers` workers. Also
  // expects that no task writes between rows.
  std::vector<int> writers_of_each_number(int workers) {
    const Content& c = *contents_.front();
    const std::int64_t heads = c.heads(), width = heads * geometry_.value_dim;
    constexpr std::int64_t kGap = 16;  // columns between rows of the output
    const SequenceRows sequence{0, c.shape.n_rows, c.first_position(), tables_.front()};
    std::vector<float> q = c.q, out(static_cast<std::size_t>(c.shape.n_rows * (width + kGap)));
    HostAttendArgs args = args_of(c, q);
    args.sequences = std::span(&sequence, 1);
    const TensorView with_gaps(out.data(), DType::kF32, {c.shape.n_rows, width + kGap});
    plan_.prepare(kernels_, args, with_gaps.columns(0, width), workers);
    std::vector<float> partials(plan_.partial_bytes() / sizeof(float));
    std::vector<int> writers(static_cast<std::size_t>(c.shape.n_rows * width), 0);
    for (std::int64_t t = 0; t < plan_.tasks(); ++t) {
      std::fill(out.begin(), out.end(), std::numeric_limits<float>::infinity());
      run_task(t, partials);
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

  // Attention of all sequences in one step, [n_rows][H][Dv] of each; if rows_at_once > 0, in steps of that many rows of
  // one sequence.
  std::vector<std::vector<float>> attend(int workers = 1, std::int64_t rows_at_once = 0) {
    std::vector<float> q, out;
    std::vector<SequenceRows> all;
    const std::int64_t heads = contents_.front()->heads(), q_width = heads * geometry_.key_dim,
                       width = heads * geometry_.value_dim;
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      const Content& c = *contents_[i];
      all.push_back({static_cast<std::int64_t>(q.size()) / q_width, c.shape.n_rows, c.first_position(), tables_[i]});
      q.insert(q.end(), c.q.begin(), c.q.end());
    }
    const std::int64_t rows = static_cast<std::int64_t>(q.size()) / q_width;
    out.assign(static_cast<std::size_t>(rows * width), -1.0f);
    HostAttendArgs args = args_of(*contents_.front(), q);
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
  HostKvPages pages_of() const { return {memory_.data(), geometry_}; }
  std::size_t scratch_bytes() const {
    return attend_scratch_bytes(geometry_.padded_key_dim(), geometry_.padded_value_dim());
  }
  void run_task(std::int64_t task, std::vector<float>& partials) {
    plan_.run(task, partials.data(), scratch_.data());
    const std::byte* behind = scratch_.data() + scratch_bytes();
    ASSERT_TRUE(std::all_of(behind, behind + kMargin, [](std::byte b) { return b == std::byte{0x5a}; }))
        << describe(contents_.front()->shape);
  }
  HostAttendArgs args_of(const Content& c, std::vector<float>& q) const {
    const std::int64_t width = c.heads() * geometry_.key_dim;
    return {.q = TensorView(q.data(), DType::kF32, {static_cast<std::int64_t>(q.size()) / width, width}),
            .sequences = {},
            .kv = pages_of(),
            .heads = c.heads(),
            .groups = {.size = c.shape.group},
            .scale = scale_of(c.shape),
            .window = c.shape.window,
            .chunk = c.shape.chunk,
            .softcap = c.shape.softcap,
            .alibi = c.alibi.empty() ? nullptr : c.alibi.data(),
            .sinks = c.sinks.empty() ? nullptr : c.sinks.data()};
  }
  // Runs tasks from the last to the first, since their order must not matter.
  void run(const HostAttendArgs& args, TensorView out, int workers) {
    plan_.prepare(kernels_, args, out, workers);
    std::vector<float> partials(plan_.partial_bytes() / sizeof(float));
    for (std::int64_t t = plan_.tasks(); t-- > 0;) run_task(t, partials);
  }

  KernelSet kernels_;
  std::vector<const Content*> contents_;
  KvGeometry geometry_;
  Buffer memory_;
  // What a task may use, and behind it what it must leave as it is.
  static constexpr std::size_t kMargin = 4096;
  Buffer scratch_;
  std::vector<std::vector<std::int32_t>> tables_;
  AttentionPlan plan_;
};

inline std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvxVnni, Isa::kAvx512Vnni, Isa::kAvx512Bf16}) {
    if (has_isa(isa)) isas.push_back(isa);
  }
  return isas;
}

inline const KvLayout& paged32() { return *find_kv_layout("paged32"); }

inline std::vector<float> attend(const Setup& setup, const Content& content) {
  return Store(setup, {&content}).attend()[0];
}
inline std::vector<float> attend(Isa isa, const KvEncoding* encoding, const Content& content) {
  return attend({isa, encoding, &paged32(), paged32().block_tokens}, content);
}

// Of the head of `width` values that has the one at i.
inline double largest_of_head(const std::vector<double>& values, std::size_t i, std::size_t width) {
  const auto head = values.begin() + static_cast<std::ptrdiff_t>(i / width * width);
  return *std::max_element(head, head + static_cast<std::ptrdiff_t>(width));
}

}  // namespace millrace::backend::cpu
