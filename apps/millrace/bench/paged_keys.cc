#include "bench/paged_keys.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>

#include "backend/device_kind.h"
#include "bench/made_weights.h"

namespace millrace::bench {
namespace {

constexpr std::int64_t kRowsPerWrite = 512;
constexpr unsigned kScatterSeed = 1;

}  // namespace

PagedKeys::PagedKeys(const KernelSizes& sizes, const KernelContext& context, const KernelSizes::Cache& cache,
                     std::int64_t sequences, std::int64_t context_tokens)
    : cache_(cache), sequences_(sequences), tokens_(context_tokens) {
  const kv::KvNeed need{.kv_heads = sizes.kv_heads, .key_dim = sizes.head_dim, .value_dim = sizes.value_dim};
  page_bytes_ = kv::group_layers(std::span(&need, 1), cache.pages).page_bytes(context.backend);
  pages_per_sequence_ = (tokens_ + cache.pages.block_tokens - 1) / cache.pages.block_tokens;
  const std::int64_t pages = pages_per_sequence_ * sequences_;
  layers_ = copies_of(context, static_cast<double>(page_bytes_) * static_cast<double>(pages), "context");
  store_ = std::make_unique<kv::KvStore>(
      kv::KvStore::create(context.backend,
                          kv::group_layers(std::vector(static_cast<std::size_t>(layers_), need), cache.pages),
                          static_cast<std::int32_t>(pages))
          .or_throw());
  pages_.resize(static_cast<std::size_t>(pages));
  std::iota(pages_.begin(), pages_.end(), 0);
  if (cache.scattered) std::shuffle(pages_.begin(), pages_.end(), std::mt19937(kScatterSeed));
  fill(context);
}

// Pages never written are the system's one page of zeros, which stays in the cache. Keys and values are products, as
// the backend writes no others.
void PagedKeys::fill(const KernelContext& context) {
  constexpr std::int64_t kHidden = 64;
  const backend::KvFormat g = store_->layer(0).format;
  const std::int64_t width = g.kv_heads * (2 * g.key_dim + g.value_dim);
  const auto qkv =
      made_weight(context, *quant::find_format("f32"), {.n = width, .k = kHidden}, backend::MatmulPrecision::kF32);
  const backend::DeviceVector norm = context.backend.make_vector(std::vector<float>(kHidden, 1.0f));
  const backend::DeviceBuffer x = random_matrix(context.backend, kRowsPerWrite, kHidden, 4);
  const backend::DeviceBuffer out = random_matrix(context.backend, kRowsPerWrite, width, 5);
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    for (std::int64_t s = 0; s < sequences_; ++s) {
      for (std::int64_t at = 0; at < tokens_; at += kRowsPerWrite) {
        const std::int64_t n = std::min(kRowsPerWrite, tokens_ - at);
        const backend::SequenceRows rows{.first_row = 0, .n_rows = n, .first_position = at, .pages = pages_of(s)};
        backend::AttentionInputs inputs;
        inputs.norm.weight = norm.address();
        inputs.qkv = qkv.get();
        inputs.heads = g.kv_heads;
        inputs.sequences = std::span(&rows, 1);
        inputs.kv = store_->layer(layer);
        context.backend.project_attention(inputs, matrix_view(x, n, kHidden), matrix_view(out, n, width));
        context.backend.synchronize();
      }
    }
  }
}

Json PagedKeys::labels() const {
  return {{"kv_cache_dtype", cache_.dtype},
          {"kv_layout", cache_.layout},
          {"block_size", cache_.pages.block_tokens},
          {"kv_pages", cache_.scattered ? "scattered" : "contiguous"}};
}

std::string PagedKeys::description() const {
  return fmt::format("{} {}:{}{}", cache_.dtype, cache_.layout, cache_.pages.block_tokens,
                     cache_.scattered ? " scattered" : "");
}

backend::Arithmetic PagedKeys::arithmetic() const noexcept {
  for (const std::string& device : backend::device_names()) {
    for (const backend::KvEncodingKind& kind : backend::find_device(device)->kv_encodings()) {
      if (kind.name == cache_.pages.encoding) return kind.arithmetic;
    }
  }
  return backend::Arithmetic::kF32;
}

double PagedKeys::layer_bytes() const noexcept {
  const backend::KvFormat g = store_->layer(0).format;
  return static_cast<double>(page_bytes_) / static_cast<double>(g.block_tokens) *
         static_cast<double>(tokens_ * sequences_);
}

backend::KvPages PagedKeys::next_layer() noexcept {
  next_ = (next_ + 1) % layers_;
  return store_->layer(next_);
}

std::span<const std::int32_t> PagedKeys::pages_of(std::int64_t sequence) const noexcept {
  return std::span(pages_).subspan(static_cast<std::size_t>(sequence * pages_per_sequence_),
                                   static_cast<std::size_t>(pages_per_sequence_));
}

std::vector<std::int64_t> decoding_rows(const KernelSizes& sizes) {
  constexpr std::int64_t kMaxSequences = 64;
  std::vector<std::int64_t> rows;
  std::copy_if(sizes.rows.begin(), sizes.rows.end(), std::back_inserter(rows),
               [](std::int64_t n) { return n <= kMaxSequences; });
  if (rows.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "rows", "rows are all above {}: that many sequences decode at once",
                     kMaxSequences);
  }
  return rows;
}

KernelCase attention_case(const KernelSizes& sizes, const KernelContext& context, PagedKeys& keys,
                          std::vector<backend::SequenceRows> sequences, double visible) {
  struct Operands {
    std::vector<backend::SequenceRows> sequences;
    backend::DeviceBuffer q, out;
  };
  const std::int64_t width = sizes.heads * sizes.head_dim, out_width = sizes.heads * sizes.value_dim;
  const std::int64_t rows = sequences.back().first_row + sequences.back().n_rows;
  const auto operands =
      std::make_shared<const Operands>(Operands{std::move(sequences), random_matrix(context.backend, rows, width, 5),
                                                random_matrix(context.backend, rows, out_width, 6)});
  KernelCase c;
  c.labels = keys.labels();
  c.labels.update({{"context", keys.context_tokens()},
                   {"rows", rows},
                   {"heads", sizes.heads},
                   {"kv_heads", sizes.kv_heads},
                   {"head_dim", sizes.head_dim},
                   {"value_dim", sizes.value_dim}});
  const std::string values = sizes.value_dim == sizes.head_dim ? "" : fmt::format(":{}", sizes.value_dim);
  c.what = fmt::format("{} keys {} heads {}:{}:{}{}", keys.description(), keys.context_tokens(), sizes.heads,
                       sizes.kv_heads, sizes.head_dim, values);
  c.rows = rows;
  c.bytes = keys.layer_bytes();
  c.from_memory = true;
  c.operations = 2.0 * visible * static_cast<double>(rows * (width + out_width));
  c.arithmetic = keys.arithmetic();
  const float scale = 1.0f / std::sqrt(static_cast<float>(sizes.head_dim));
  c.run = [&context, &keys, operands, rows, width, out_width, scale, heads = sizes.heads] {
    context.backend.attend({.q = matrix_view(operands->q, rows, width),
                            .sequences = operands->sequences,
                            .kv = keys.next_layer(),
                            .heads = heads,
                            .scale = scale},
                           matrix_view(operands->out, rows, out_width));
    context.backend.synchronize();
  };
  return c;
}

}  // namespace millrace::bench
