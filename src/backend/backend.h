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

#include "backend/device_buffer.h"
#include "backend/device_view.h"
#include "backend/kv_format.h"
#include "base/result.h"
#include "quant/format.h"

namespace millrace::backend {

// Dimensions in comments: T rows (tokens) of the step, S sequences, H query heads, K key/value heads, Dk dimensions of
// a query or key head, Dv of a value head, E hidden, F feed-forward, V vocabulary, B tokens of a page.

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
  // multiple of 32. Matrices stacked in one Linear may differ in it: x is then prepared once for each order.
  std::vector<std::int32_t> columns = {};
};

// Counts over the outputs of a weight, in runs of 16: how many were changed by more than 1/64 of their length.
struct RoundingStatistics {
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

  // From start_rounding_statistics() to take_rounding_statistics() products also count what the int8 rounding of their
  // activations does. Neither between the call of an operation and synchronize(). See model/outliers.h.
  virtual bool has_int8_activations() const noexcept { return false; }
  virtual void start_rounding_statistics() {}
  // One for each weight with int8 activations.
  virtual std::vector<RoundingStatistics> take_rounding_statistics() { return {}; }
  // Two int8 terms for the activations of the weight of that name from now on, as MatmulPrecision::kInt8x2 has them for
  // all; nothing where it has no int8 activations.
  virtual void set_int8x2(std::string_view) {}
};

enum class NormKind { kRms, kLayer };
struct Norm {
  NormKind kind = NormKind::kRms;
  float eps = 1e-5f;
  DeviceAddress weight;  // [E] f32; null: rows stay as they are, where a product takes them
  DeviceAddress bias;    // [E] f32 or null
};

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu };

// The rows of one sequence in a step: rows [first_row, first_row + n_rows) are its tokens at positions
// [first_position, first_position + n_rows); page i of `pages` holds positions [i*B, (i+1)*B).
struct SequenceRows {
  std::int64_t first_row = 0, n_rows = 0;
  std::int64_t first_position = 0;
  std::span<const std::int32_t> pages;
  std::int64_t kv_length() const noexcept { return first_position + n_rows; }
};

struct AttendArgs {
  DeviceView q;  // [T, H*Dk] f32, roped
  std::span<const SequenceRows> sequences;
  KvPages kv;
  std::int64_t heads = 0;
  float scale = 1.0f;       // multiplies q k^T
  std::int64_t window = 0;  // a token sees itself and the window - 1 tokens before it; 0 = all
};

struct LinearOptions {
  std::optional<Norm> norm = {};            // x is normalised first
  DeviceAddress bias = {};                  // [n] f32 or null
  bool accumulate = false;                  // out += : the residual
  std::span<const std::int64_t> rows = {};  // the rows of x that count, in order; empty = all
};

// What stands before attention in a layer.
struct AttentionInputs {
  Norm norm;                           // of the residual
  const Linear* qkv = nullptr;         // [H*Dk + K*Dk + K*Dv, E]
  DeviceAddress bias;                  // of qkv or null
  std::optional<Norm> q_norm, k_norm;  // of each head, weight [Dk]
  std::int64_t heads = 0;
  // [T, rotated] of rotary_table, for the first `rotated` dimensions of each head, as halves (x[i], x[i + rotated/2]);
  // without data nothing is rotated.
  DeviceView cos_sin;
  std::span<const SequenceRows> sequences;
  KvPages kv;
};

// What stands after it: x += down(activation(gate(n)) * up(n)), or down(activation(up(n))), with n = norm(x).
struct Mlp {
  Norm norm;
  const Linear* up = nullptr;  // [F, E], or gate and up stacked: [2F, E]
  DeviceAddress up_bias;
  bool gated = true;
  Activation activation = Activation::kSilu;
  const Linear* down = nullptr;  // [E, F]
  DeviceAddress down_bias;
};

// The angles of rotary embedding: of a token at position p, p * inverse_frequency[i] for pair i, in double.
struct RotaryAngles {
  std::span<const double> inverse_frequency;  // [rotated / 2]
  double factor = 1.0;                        // multiplies cosines and sines
};

// What a device's operations can be asked for.
struct Limits {
  std::int64_t max_key_dim = 0, max_value_dim = 0;  // Dk, Dv
  std::int64_t max_group = 0;                       // query heads of a key/value head, H / K
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

  virtual Limits limits() const noexcept = 0;

  // kResourceExhausted naming the size.
  virtual Result<DeviceBuffer> allocate(std::size_t bytes) = 0;
  // Throws LoadError (no memory). Empty values make a vector without memory.
  DeviceVector make_vector(std::span<const float> values);

  // upload() and download() return when `from`, or `out`, may be used again; so upload is not for the middle of a step.
  virtual void upload(std::span<const std::byte> from, DeviceAddress to) = 0;
  virtual void download(DeviceAddress from, std::span<std::byte> out) = 0;
  // In the order of operations. The two must not overlap.
  virtual void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) = 0;
  // Results that were computed before the last synchronize(), for reading on the host. Costs nothing where the device
  // shares the host's memory.
  virtual HostView host_view(const DeviceView& results) = 0;

  // Bytes of one page of one layer. The format has the layer's heads.
  virtual std::size_t kv_page_bytes(const KvFormat& format) const noexcept = 0;
  // kInvalidArgument naming kv-layout or block-size where the device has no such pages.
  virtual Result<void> check_kv_format(const KvFormat& format) const = 0;

  // Packs weights, reading each source once, panel by panel: peak memory is the packed size plus a few rows.
  // Throws LoadError (unreadable source, no memory).
  virtual std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) = 0;

  // All weights of the model are made.
  virtual void finish_loading() = 0;

  // What make_linear would take for one matrix, without reading it.
  virtual std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                                   MatmulPrecision precision) const = 0;
  // What it needs for itself, at most, in a step of T = `rows` of a model with these E and F, columns in one order.
  virtual std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn) const noexcept = 0;

  // out[t] = row ids[t] of the weight, as f32; or out[t] += it. out [T, k].
  virtual void gather(const Linear& weight, std::span<const std::int32_t> ids, bool accumulate, DeviceView out) = 0;
  // out[i] = norm(row rows[i] of x). out [rows, E].
  virtual void norm(const Norm& norm, std::span<const std::int64_t> rows, DeviceView x, DeviceView out) = 0;
  // out [T, n] = x [T, k] W^T.
  virtual void linear(const Linear& weight, const LinearOptions& options, DeviceView x, DeviceView out) = 0;
  // Queries, keys and values of x [T, E]: queries, rotated, are left in qkv [T, H*Dk + K*Dk + K*Dv], columns [0, H*Dk);
  // keys, rotated, and values go into the sequences' pages, rounded to the pages' type.
  virtual void project_attention(const AttentionInputs& inputs, DeviceView x, DeviceView qkv) = 0;
  // Attention of the step's rows over paged keys and values, causal: online softmax as FlashAttention-2
  // (arXiv:2307.08691), split over keys at fixed positions as FlashDecoding, paging as arXiv:2309.06180. out [T, H*Dv]
  // f32. K divides H.
  virtual void attend(const AttendArgs& args, DeviceView out) = 0;
  virtual void mlp(const Mlp& mlp, DeviceView x) = 0;  // x [T, E] is the residual

  // x += activation(y), both [T, E]. Products that are not to be added at once end in `add`: out += x.
  virtual void add_activated(Activation activation, DeviceView y, DeviceView x) = 0;
  virtual void add(DeviceView x, DeviceView out) = 0;
  // out[t] = cosines and sines of the angles of positions[t]: rotated/2 of each. out [T, rotated].
  virtual void rotary_table(std::span<const std::int32_t> positions, const RotaryAngles& angles, DeviceView out) = 0;
  // Rows of a table [slots, E] of f32 or bf16 as f32: out[i] = table[slots[i]], out [n, E].
  virtual void load_rows(DeviceView table, std::span<const std::int64_t> slots, DeviceView out) = 0;
  // The other way, rounded to the table's type: table[slots[i]] = x[rows[i]]. No slot twice.
  virtual void store_rows(DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                          DeviceView table) = 0;

  // Ranks compute the same step side by side, each with some of the rows of some weights. This one's number, [0,
  // ranks()).
  virtual int ranks() const noexcept { return 1; }
  virtual int rank() const noexcept { return 0; }
  // Puts the columns of all ranks side by side in the order of their numbers: own [T, n], all [T, ranks * n]. Every
  // rank calls it at the same place. It gathers and never sums: no result depends on how many ranks there are.
  virtual void all_gather(DeviceView own, DeviceView all) = 0;

  // Returns when everything called so far is done.
  virtual void synchronize() = 0;
  // item(i) for each i in [0, items) on the host, on the calling thread and the device's own host threads, if it has
  // any: for work on results that the operations leave to the host. After synchronize(); item must not throw.
  virtual void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) {
    for (std::int64_t i = 0; i < items; ++i) item(i);
  }
};

}  // namespace millrace::backend
