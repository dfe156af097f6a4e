#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "quant/format.h"
#include "tensor/view.h"

namespace millrace::backend {

// Dimensions in comments: T rows (tokens) of the step, S sequences, H query heads, K key/value heads, D head_dim, P
// padded_dim, E hidden, F feed-forward, V vocabulary, B tokens of a page.

// How the products of quantized weights are computed. Static per model, never per batch.
enum class MatmulPrecision {
  kAuto,    // block formats: int8 activations in groups of 32; bf16 weights: bf16 products where the processor has them
  kInt8x2,  // as kAuto, with activations as two int8 numbers each: 16 bits for twice the arithmetic, no more memory
  kBf16,    // weights rounded to bf16, bf16 activations, sums in f32: for outliers that int8 groups flatten
  kF32,     // weights unpacked to f32, f32 activations: the most exact, slower
};

// Rows [0, rows) of a weight matrix as stored, delivered on request. `read(first, count, out)` fills whole rows; it may
// throw LoadError and is called from several threads.
struct WeightSource {
  std::string name;
  const quant::QuantFormat* format = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::function<void(std::int64_t first, std::int64_t count, std::span<std::byte> out)> read;
  // Column j of what read() fills is multiplied with x[columns[j]]; empty = with x[j]. All of a permutation, cols a
  // multiple of 32. Matrices stacked in one Linear have the same.
  std::vector<std::int32_t> columns = {};
};

// Of the outputs of a weight, in runs of 16, how many were moved by more than 1/64 of their length.
struct RoundingCensus {
  std::string weight;
  std::int64_t outputs = 0, moved = 0;
};

// y = x W^T for one weight matrix [n, k] or several of equal k stacked along n (Q, K and V; gate and up). Packed for
// the device when made, const afterwards.
class Linear {
 public:
  virtual ~Linear() = default;
  virtual std::int64_t n() const noexcept = 0;
  virtual std::int64_t k() const noexcept = 0;
  virtual std::size_t packed_bytes() const noexcept = 0;
  virtual std::string description() const = 0;  // "q4_1 (avx512_vnni int8)"

  // From start_census() to take_census() products also count what the int8 rounding of their activations does. Neither
  // between the call of an operation and synchronize(). See model/outliers.h.
  virtual bool has_int8_activations() const noexcept { return false; }
  virtual void start_census() {}
  virtual std::vector<RoundingCensus> take_census() { return {}; }  // one a weight with int8 activations
  // Two int8 terms for the activations of the weight of that name from now on, as MatmulPrecision::kInt8x2 has them for
  // all; nothing where it has no int8 activations.
  virtual void set_two_terms(std::string_view) {}
};

enum class NormKind { kRms, kLayer };
struct Norm {
  NormKind kind = NormKind::kRms;
  float eps = 1e-5f;
  const float* weight = nullptr;  // [E]
  const float* bias = nullptr;    // [E] or null
};

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu };

namespace cpu {
struct KvLayout;
}

// What pages hold keys and values in, whatever the model.
struct KvPageForm {
  DType dtype = DType::kBF16;  // f32, f16, bf16, or i8: codes with one f32 scale a token and head, for keys and values
  std::int64_t block_tokens = 32;
  const cpu::KvLayout* layout = nullptr;  // null = the one whose pages the kernels read in place; it must fit B
};

// Dimensions of a head: as many as the model has in weights, activations, norms, rotation and scale; in pages, and
// within attention, zeros follow up to a multiple of what the kernels take at a time.
inline constexpr std::int64_t kMaxHeadDim = 256;
constexpr std::int64_t padded_head_dim(std::int64_t head_dim) noexcept { return (head_dim + 15) / 16 * 16; }

// Type, size and layout of the pages that hold keys and values. A page of one layer holds B tokens of all K heads, head
// by head; how the tokens of a head lie is the layout's business, and its size the same in all of them.
struct KvGeometry {
  DType dtype = DType::kBF16;
  std::int64_t kv_heads = 0, head_dim = 0, block_tokens = 32;  // head_dim: the model's, 1 to kMaxHeadDim
  const cpu::KvLayout* layout = nullptr;

  std::int64_t padded_dim() const noexcept { return padded_head_dim(head_dim); }
  std::size_t head_bytes() const noexcept {  // K and V of one head of one page
    const std::size_t scale = dtype == DType::kI8 ? sizeof(float) : 0;
    return 2 * static_cast<std::size_t>(block_tokens) *
           (static_cast<std::size_t>(padded_dim()) * size_of(dtype) + scale);
  }
  std::size_t page_bytes() const noexcept { return static_cast<std::size_t>(kv_heads) * head_bytes(); }
};
// The pages of one layer: page p starts at base + p * geometry.page_bytes().
struct KvPages {
  std::byte* base = nullptr;
  KvGeometry geometry;
};

// The rows of one sequence in a step: rows [first_row, first_row + n_rows) are its tokens at positions
// [first_position, first_position + n_rows); page i of `pages` holds positions [i*B, (i+1)*B).
struct SequenceRows {
  std::int64_t first_row = 0, n_rows = 0;
  std::int64_t first_position = 0;
  std::span<const std::int32_t> pages;
  std::int64_t kv_length() const noexcept { return first_position + n_rows; }
};

struct AttendArgs {
  TensorView q;  // [T, H*D] f32, roped
  std::span<const SequenceRows> sequences;
  KvPages kv;
  std::int64_t heads = 0;
  float scale = 1.0f;       // multiplies q k^T
  std::int64_t window = 0;  // a token sees itself and the window - 1 tokens before it; 0 = all
};

struct LinearOptions {
  std::optional<Norm> norm = {};            // x is normalised first
  const float* bias = nullptr;              // [n]
  bool accumulate = false;                  // out += : the residual
  std::span<const std::int64_t> rows = {};  // the rows of x that count, in order; empty = all
};

// What stands before attention in a layer.
struct AttentionInputs {
  Norm norm;                    // of the residual
  const Linear* qkv = nullptr;  // [H*D + 2*K*D, E]
  const float* bias = nullptr;
  std::optional<Norm> q_norm, k_norm;  // of each head, weight [D]
  std::int64_t heads = 0;
  const float* cos_sin = nullptr;  // [T, rotated]: rotated/2 cosines, then rotated/2 sines; null = no rotation
  std::int64_t rotated = 0;        // the first dimensions of each head, as halves (x[i], x[i + rotated/2])
  std::span<const SequenceRows> sequences;
  KvPages kv;
};

// What stands after it: x += down(activation(gate(n)) * up(n)), or down(activation(up(n))), with n = norm(x).
struct Mlp {
  Norm norm;
  const Linear* up = nullptr;  // [F, E], or gate and up stacked: [2F, E]
  const float* up_bias = nullptr;
  bool gated = true;
  Activation activation = Activation::kSilu;
  const Linear* down = nullptr;  // [E, F]
  const float* down_bias = nullptr;
};

// One device's memory and stream. About a dozen operations on views of that memory; a row of a result depends on that
// row of the input alone, bit for bit, whatever other rows, threads and chunks there are (law 3). Calls come from one
// thread (the engine's) and take effect in order, at the latest when synchronize() returns: until then everything that
// the arguments point to stays as it is. Sizes are the caller's responsibility and are DCHECKed; nothing here fails
// except allocation.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string description() const = 0;  // "cpu avx512_bf16, 2 threads"
  virtual int threads() const noexcept = 0;

  virtual Result<Buffer> allocate(std::size_t bytes) = 0;
  // Packs weights, reading each source once, panel by panel: peak memory is the packed size plus a few rows.
  // Throws LoadError (unreadable source, no memory).
  virtual std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) = 0;

  // All weights of the model are made.
  virtual void finish_loading() = 0;

  // What make_linear would take for one matrix, without reading it.
  virtual std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                                   MatmulPrecision precision) const = 0;
  // What it needs for itself, at most, in a step of T = `rows` of a model with these E and F.
  virtual std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn) const noexcept = 0;

  // out[t] = row ids[t] of the weight, as f32; or out[t] += it. out [T, k].
  virtual void gather(const Linear& weight, std::span<const std::int32_t> ids, bool accumulate, TensorView out) = 0;
  // out[i] = norm(row rows[i] of x). out [rows, E].
  virtual void norm(const Norm& norm, std::span<const std::int64_t> rows, TensorView x, TensorView out) = 0;
  // out [T, n] = x [T, k] W^T.
  virtual void linear(const Linear& weight, const LinearOptions& options, TensorView x, TensorView out) = 0;
  // Queries, keys and values of x [T, E]: queries, rotated, are left in qkv [T, (H + 2K) * D], columns [0, H*D); keys,
  // rotated, and values go into the sequences' pages, rounded to the pages' type.
  virtual void project_attention(const AttentionInputs& inputs, TensorView x, TensorView qkv) = 0;
  // Attention of the step's rows over paged keys and values, causal: online softmax as FlashAttention-2
  // (arXiv:2307.08691), split over keys at fixed positions as FlashDecoding, paging as arXiv:2309.06180. out [T, H*D]
  // f32. K divides H.
  virtual void attend(const AttendArgs& args, TensorView out) = 0;
  virtual void mlp(const Mlp& mlp, TensorView x) = 0;  // x [T, E] is the residual

  // Returns when everything called so far is done.
  virtual void synchronize() = 0;
};

// Where packed weights are kept from one start to the next.
struct PackedCacheConfig {
  std::string directory;                                // "" = nowhere
  std::uint64_t model_key = 0;                          // of the weights' content
  std::uint64_t limit_bytes = std::uint64_t{64} << 30;  // of all files there; the least recently used go
};

struct CpuConfig {
  int threads = 0;  // 0 = all the processors this process may use
  std::string isa;  // "" = the best there is; else as base/cpu.h names them
  PackedCacheConfig packed_cache = {};
};
// kInvalidArgument for an instruction set this processor has not.
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuConfig& config);

}  // namespace millrace::backend
