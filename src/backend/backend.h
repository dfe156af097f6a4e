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

// Dimensions in the comments of this file: T rows (tokens) of the step, S sequences, H query heads, K key/value heads,
// Dk dimensions of a query or key head, Dv of a value head, E hidden, F feed-forward, V vocabulary, B tokens of a page.

// How products with quantized weights are computed. Fixed for a model, never chosen per batch.
enum class MatmulPrecision {
  kAuto,    // block formats: int8 activations in groups of 32; bf16 weights: bf16 products if the processor has them
  kInt8x2,  // as kAuto, with two int8 numbers for each activation: 16 bits, twice the arithmetic, equal memory
  // Weights and activations rounded to bf16, sums in f32: for outliers that int8 groups represent too coarsely.
  kBf16,
  kF32,  // weights unpacked to f32, f32 activations: the most exact and the slowest
};

// The rows [0, rows) of a weight matrix as stored, read on demand. `read(first, count, out)` writes whole rows; it may
// throw LoadError and is called from several threads.
struct WeightSource {
  std::string name;
  const quant::QuantFormat* format = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::function<void(std::int64_t first, std::int64_t count, std::span<std::byte> out)> read;
  // Column j of the rows is multiplied with x[columns[j]]; empty = with x[j]. A permutation, only if cols is a multiple
  // of 32. Matrices stacked in one Linear may have different orders; x is then prepared once for each.
  std::vector<std::int32_t> columns = {};
};

// Statistics over the outputs of a weight in groups of 16: `moved` counts those of `outputs` that int8 rounding changed
// by more than 1/64 of the group's length.
struct RoundingStatistics {
  std::string weight;
  std::int64_t outputs = 0, moved = 0;
};

// y = x W^T for one weight matrix [n, k], or for several of equal k stacked along n (Q, K and V; gate and up). Packed
// for the device when made; const afterwards.
class Linear {
 public:
  virtual ~Linear() = default;
  virtual std::int64_t n() const noexcept = 0;
  virtual std::int64_t k() const noexcept = 0;
  virtual std::size_t packed_bytes() const noexcept = 0;
  virtual std::string description() const = 0;  // format and kernel: "q4_1 (avx512_vnni int8)"

  // Between start_rounding_statistics() and take_rounding_statistics(), products also count the effect of rounding
  // their activations to int8. Neither may be called between an operation and synchronize(). See model/outliers.h.
  virtual bool has_int8_activations() const noexcept { return false; }
  virtual void start_rounding_statistics() {}
  // One entry for each stacked weight with int8 activations.
  virtual std::vector<RoundingStatistics> take_rounding_statistics() { return {}; }
  // Uses two int8 terms for the activations of the stacked weight of that name from now on, as MatmulPrecision::kInt8x2
  // does for all. Does nothing if it has no int8 activations.
  virtual void set_int8x2(std::string_view) {}
};

enum class NormKind { kRms, kLayer };
struct Norm {
  NormKind kind = NormKind::kRms;
  float eps = 1e-5f;
  DeviceAddress weight;  // [E] f32; null: the identity, where a product takes a norm
  DeviceAddress bias;    // [E] f32 or null
};

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu };

// The rows of one sequence in a step: rows [first_row, first_row + n_rows) are its tokens at positions [first_position,
// first_position + n_rows). Page i of `pages` holds positions [i*B, (i+1)*B).
struct SequenceRows {
  std::int64_t first_row = 0, n_rows = 0;
  std::int64_t first_position = 0;
  std::span<const std::int32_t> pages;
  std::int64_t kv_length() const noexcept { return first_position + n_rows; }
};

struct AttendArgs {
  DeviceView q;  // [T, H*Dk] f32, rotated
  std::span<const SequenceRows> sequences;
  KvPages kv;
  std::int64_t heads = 0;
  float scale = 1.0f;       // factor of q k^T
  std::int64_t window = 0;  // a token sees itself and the window - 1 tokens before it; 0 = all
};

struct LinearOptions {
  std::optional<Norm> norm = {};            // applied to x before the product
  DeviceAddress bias = {};                  // [n] f32 or null
  bool accumulate = false;                  // out += instead of out =, for the residual
  std::span<const std::int64_t> rows = {};  // indices of the rows of x to use, in order; empty = all
};

// The operations of a layer before attention: norm, projections, rotation, storing keys and values.
struct AttentionInputs {
  Norm norm;                           // of the residual
  const Linear* qkv = nullptr;         // [H*Dk + K*Dk + K*Dv, E]
  DeviceAddress bias;                  // of qkv or null
  std::optional<Norm> q_norm, k_norm;  // of each head, weight [Dk]
  std::int64_t heads = 0;
  // [T, rotated] from rotary_table(), for the first `rotated` dimensions of each head as halves (x[i], x[i +
  // rotated/2]). Without data nothing is rotated.
  DeviceView cos_sin;
  std::span<const SequenceRows> sequences;
  KvPages kv;
};

// The feed-forward network of a layer: x += down(activation(gate(n)) * up(n)), or x += down(activation(up(n))), with n
// = norm(x).
struct Mlp {
  Norm norm;
  const Linear* up = nullptr;  // [F, E], or gate and up stacked: [2F, E]
  DeviceAddress up_bias;
  bool gated = true;
  Activation activation = Activation::kSilu;
  const Linear* down = nullptr;  // [E, F]
  DeviceAddress down_bias;
};

// The angles of rotary embedding in double: p * inverse_frequency[i] for pair i of a token at position p.
struct RotaryAngles {
  std::span<const double> inverse_frequency;  // [rotated / 2]
  double factor = 1.0;                        // factor of cosines and sines
};

// The largest dimensions that a device's operations support.
struct Limits {
  std::int64_t max_key_dim = 0, max_value_dim = 0;  // Dk, Dv
  std::int64_t max_group = 0;                       // query heads per key/value head, H / K
};

// One device's memory and stream, with about a dozen operations on views of that memory. A row of a result depends on
// that row of the input alone, bit for bit, whatever other rows, threads and chunks there are (law 3 of the
// architecture). All calls come from one thread, the engine's. Operations take effect in order, at the latest when
// synchronize() returns; until then everything that the arguments point to must stay. Sizes are the caller's
// responsibility and are DCHECKed; only allocation can fail.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string description() const = 0;  // "cpu avx512_bf16, 2 threads"
  virtual int threads() const noexcept = 0;

  virtual Limits limits() const noexcept = 0;

  // Zeroed memory of the device. kResourceExhausted names the size.
  virtual Result<DeviceBuffer> allocate(std::size_t bytes) = 0;
  // Copies the values to the device; empty values give a vector without memory. Throws LoadError where memory is short.
  DeviceVector make_vector(std::span<const float> values);

  // upload() and download() return when `from`, or `out`, may be reused. They wait for the device, so they are not for
  // the middle of a step.
  virtual void upload(std::span<const std::byte> from, DeviceAddress to) = 0;
  virtual void download(DeviceAddress from, std::span<std::byte> out) = 0;
  // An operation of the stream. The two ranges must not overlap.
  virtual void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) = 0;
  // Results computed before the last synchronize(), for reading on the host. Costs nothing if the device shares the
  // host's memory.
  virtual HostView host_view(const DeviceView& results) = 0;

  // Bytes of one page of one layer. The format must have the layer's heads.
  virtual std::size_t kv_page_bytes(const KvFormat& format) const noexcept = 0;
  // Whether the device has such pages. kInvalidArgument names kv-layout or block-size.
  virtual Result<void> check_kv_format(const KvFormat& format) const = 0;

  // Packs weights. Reads each source once, panel by panel, so that peak memory is the packed size plus a few rows.
  // Throws LoadError for an unreadable source or lack of memory.
  virtual std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) = 0;

  // Must be called after all weights of the model have been made.
  virtual void finish_loading() = 0;

  // Bytes that make_linear() takes for one matrix. Reads nothing.
  virtual std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                                   MatmulPrecision precision) const = 0;
  // Upper bound of the backend's own memory in a step of T = `rows` rows of a model with these E and F, and columns in
  // one order.
  virtual std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn) const noexcept = 0;

  // Writes out[t] = row ids[t] of the weight as f32, or adds it if `accumulate`. out [T, k].
  virtual void gather(const Linear& weight, std::span<const std::int32_t> ids, bool accumulate, DeviceView out) = 0;
  // Writes out[i] = norm(row rows[i] of x). out [rows, E].
  virtual void norm(const Norm& norm, std::span<const std::int64_t> rows, DeviceView x, DeviceView out) = 0;
  // Computes out [T, n] = x [T, k] W^T.
  virtual void linear(const Linear& weight, const LinearOptions& options, DeviceView x, DeviceView out) = 0;
  // Projects x [T, E] to queries, keys and values. Rotated queries stay in the columns [0, H*Dk) of qkv [T, H*Dk + K*Dk
  // + K*Dv]; rotated keys, and values, are rounded to the pages' type and stored in the sequences' pages.
  virtual void project_attention(const AttentionInputs& inputs, DeviceView x, DeviceView qkv) = 0;
  // Causal attention of the step's rows over paged keys and values. Online softmax as in FlashAttention-2
  // (arXiv:2307.08691), split over keys at fixed positions as in FlashDecoding, with pages as in arXiv:2309.06180. out
  // [T, H*Dv] f32. K must divide H.
  virtual void attend(const AttendArgs& args, DeviceView out) = 0;
  virtual void mlp(const Mlp& mlp, DeviceView x) = 0;  // x [T, E] is the residual

  // add_activated() computes x += activation(y), both [T, E]. add() computes out += x, for products that are not added
  // at once.
  virtual void add_activated(Activation activation, DeviceView y, DeviceView x) = 0;
  virtual void add(DeviceView x, DeviceView out) = 0;
  // Writes cosines and sines of the angles at positions[t] to out[t]: rotated/2 of each. out [T, rotated].
  virtual void rotary_table(std::span<const std::int32_t> positions, const RotaryAngles& angles, DeviceView out) = 0;
  // Reads rows of a table [slots, E] of f32 or bf16: out[i] = table[slots[i]] as f32. out [n, E].
  virtual void load_rows(DeviceView table, std::span<const std::int64_t> slots, DeviceView out) = 0;
  // Writes rows of a table, rounded to its type: table[slots[i]] = x[rows[i]]. Slots must differ.
  virtual void store_rows(DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                          DeviceView table) = 0;

  // Ranks are devices that compute the same step in parallel, each with some rows of some weights. rank() is this one's
  // number, in [0, ranks()).
  virtual int ranks() const noexcept { return 1; }
  virtual int rank() const noexcept { return 0; }
  // Concatenates the columns of all ranks in the order of their numbers: own [T, n], all [T, ranks * n]. Every rank
  // must call it at the same point. It never sums, so no result depends on the number of ranks.
  virtual void all_gather(DeviceView own, DeviceView all) = 0;

  // Returns when all operations called so far are done.
  virtual void synchronize() = 0;
  // Calls item(i) for each i in [0, items) on the host, on the calling thread and on the device's own host threads, if
  // there are any. For work on results that is left to the host. Call it after synchronize(); item must not throw.
  virtual void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) {
    for (std::int64_t i = 0; i < items; ++i) item(i);
  }
};

}  // namespace millrace::backend
