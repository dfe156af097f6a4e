#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/device_view.h"
#include "backend/kv_format.h"
#include "backend/router.h"

namespace millrace::backend {

// Dimensions in the comments of this file: T rows (tokens) of the step, S sequences, H query heads, K key/value heads,
// Dk dimensions of a query or key head, Dv of a value head, E hidden, F feed-forward, V vocabulary, B tokens of a page.

class Linear;
class LowRank;

// Rows of an operation whose result an adapter changes: the rows [first_row, first_row + n_rows) of its input. Rows may
// have several adapters, which come one after the other in the order of the list.
struct AdapterRows {
  std::int64_t first_row = 0, n_rows = 0;
  const LowRank* weights = nullptr;  // made for the Linear of the operation: see low_rank.h
  float scale = 1.0f;
};

struct GatherOptions {
  bool accumulate = false;  // out += instead of out =
  // The row of the table that the weight begins with, where ranks share it. Rows of `out` whose ids are in no row of
  // the weight stay as they are.
  std::int64_t first_row = 0;
  std::span<const AdapterRows> adapters = {};
};

// What ranks have computed of rows [T, n].
struct ExchangeArgs {
  std::span<const std::int64_t> borders = {};  // [ranks + 1]: rank r has the columns [borders[r], borders[r + 1])
  std::span<const std::int32_t> owners = {};   // [T], instead of borders: rank owners[t] has row t
  bool leader_only = false;                    // only rank 0 gets them
};

enum class NormKind { kRms, kLayer };
struct Norm {
  NormKind kind = NormKind::kRms;
  float eps = 1e-5f;
  DeviceAddress weight;  // [E] f32; null: the identity, where the norm is part of another operation
  DeviceAddress bias;    // [E] f32 or null
};

enum class Activation {
  kSilu,         // x sigmoid(x)
  kGelu,         // x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,     // its approximation with tanh
  kRelu,         // max(x, 0)
  kReluSquared,  // max(x, 0)^2
  kQuickGelu,    // x sigmoid(1.702 x)
  kXielu,        // with ActivationParameters, arXiv:2411.13010
  // Gated only, of gate g and up u: g' sigmoid(alpha g') (u' + shift), g' = min(g, limit), u' = u in [-limit, limit].
  kClampedSwiglu,
};

// kXielu is, for x > 0: alpha_p x^2 + beta x; else alpha_n (expm1(min(x, eps)) - x) + beta x. Where a
// file holds alphas in front of a softplus, these are behind it.
struct ActivationParameters {
  float alpha_p = 0.0f, alpha_n = 0.0f, beta = 0.0f;
  float eps = 0.0f;                                // at most 0
  float alpha = 0.0f, limit = 0.0f, shift = 0.0f;  // of kClampedSwiglu
};

// The rows of one sequence in a step: rows [first_row, first_row + n_rows) are its tokens at positions [first_position,
// first_position + n_rows). Page i of `pages` holds positions [i*B, (i+1)*B).
struct SequenceRows {
  std::int64_t first_row = 0, n_rows = 0;
  std::int64_t first_position = 0;
  std::span<const std::int32_t> pages;
  std::int64_t kv_length() const noexcept { return first_position + n_rows; }
};

// Which query heads share a key/value head: those in a row. Ranks that share a layer have some of its query heads, of
// whose first key/value head others may have the first ones.
struct HeadGroups {
  std::int64_t size = 0;     // query heads of a whole group; 0: H / K
  std::int64_t skipped = 0;  // of the first group

  // The query heads [first, last) of key/value head k that are there, of H.
  struct Queries {
    std::int64_t first, last;
  };
  Queries of(std::int64_t k, std::int64_t heads) const noexcept {
    const auto clamped = [&](std::int64_t head) { return head < 0 ? 0 : head > heads ? heads : head; };
    return {clamped(k * size - skipped), clamped((k + 1) * size - skipped)};
  }
};

// A score is that of query and key, times `scale`; capped; with what ALiBi adds. Then tokens not seen are left out.
struct AttendArgs {
  DeviceView q;  // [T, H*Dk] f32, rotated
  std::span<const SequenceRows> sequences;
  KvPages kv;
  std::int64_t heads = 0;
  HeadGroups groups = {};
  float scale = 1.0f;       // factor of q k^T
  std::int64_t window = 0;  // a token sees itself and the window - 1 tokens before it; 0 = all
  // A token sees only tokens of its own chunk, positions [i*chunk, (i+1)*chunk); 0 = all. Beside a window: what both
  // let it see.
  std::int64_t chunk = 0;
  float softcap = 0.0f;  // c tanh(score / c) instead of a score; 0 = none
  // [H] f32 or null: slopes; a score grows by slope * (position of the key - position of the query). arXiv:2108.12409
  DeviceAddress alibi = {};
  // [H] f32 or null: the score of one more entry of each softmax, whose value is zero. It is neither scaled nor capped.
  DeviceAddress sinks = {};
};

struct LinearOptions {
  std::optional<Norm> norm = {};               // applied to x before the product
  DeviceAddress bias = {};                     // [n] f32 or null
  bool accumulate = false;                     // out += instead of out =, for the residual
  std::span<const std::int64_t> rows = {};     // indices of the rows of x to use, in order; empty = all
  std::span<const AdapterRows> adapters = {};  // counted in rows of the result
  // Columns of x, where ranks have computed some each: exchanged before, in whatever form the product reads them. What
  // x has then in the columns of others is not specified. Not with `rows`.
  ExchangeArgs exchanged = {};
};

// What makes factors of gates.
enum class GateFunction {
  kSigmoid,
  kSoftplus,  // ln(1 + e^x)
};

// A norm of queries or of keys, in front of or behind their rotation.
struct HeadNorm {
  enum class Over {
    kHead,  // each head [Dk] by itself
    kRow,   // all heads of a row [H*Dk] or [K*Dk] together, with as many weights; only in front of rotation
  };
  Norm norm;  // a null weight: none
  Over over = Over::kHead;
  // kHead: weights and biases of head h begin h * weight_stride values behind `weight` and `bias`; 0: the same for all.
  std::int64_t weight_stride = 0;
  bool after_rotation = false;
};

// The operations of a layer before attention: norm, projections, norms of all queries and all keys, clipping, norms of
// heads, rotation, storing keys and values.
struct AttentionInputs {
  Norm norm;                    // of the residual
  const Linear* qkv = nullptr;  // [H*Dk + K*Dk + K*Dv, E]
  DeviceAddress bias;           // of qkv or null
  float clip = 0.0f;            // queries, keys and values with their bias are clamped to [-clip, clip]; 0 = not
  HeadNorm q_norm, k_norm;
  std::int64_t heads = 0;
  HeadGroups groups = {};
  // [T, rotated] from rotary_table(), for the first `rotated` dimensions of each head as halves (x[i], x[i +
  // rotated/2]). Without data nothing is rotated.
  DeviceView cos_sin;
  // [T, 1], factors of the queries after all else, from position_scale(). Without data there are none.
  DeviceView query_scale;
  std::span<const SequenceRows> sequences;
  KvPages kv;
  std::span<const AdapterRows> adapters = {};
};

// The feed-forward network of a layer: down(activation(gate(n)) * up(n)), or down(activation(up(n))), with n = norm(x).
struct Mlp {
  Norm norm;
  const Linear* up = nullptr;  // [F, E], or gate and up, two sources of F rows stacked: [2F, E]
  DeviceAddress up_bias;
  bool gated = true;
  Activation activation = Activation::kSilu;
  ActivationParameters parameters = {};
  const Linear* down = nullptr;  // [E, F]
  DeviceAddress down_bias;
  bool accumulate = true;  // out += instead of out =
  std::span<const AdapterRows> up_adapters = {}, down_adapters = {};
  // Columns of the hidden layer, where ranks have some each, and outputs too: `up` has those of this rank, `down` takes
  // all. See exchange().
  ExchangeArgs hidden = {};
};

// How the experts of each row are chosen; see router.h.
struct RouteArgs {
  Routing routing;
  DeviceAddress bias;  // [experts] f32 or null, of the choice alone
};

// The feed-forward networks of experts, of which each row goes through k: f = the sum over the chosen experts e, in the
// order of choice, of weight_e * down_e(activation(gate_e(x)) * up_e(x)).
struct Experts {
  const Linear* up = nullptr;  // of each expert [F, E] or, gated, gate and up stacked [2F, E]; as WeightSource::experts
  DeviceAddress up_bias;       // [experts, F or 2F] f32 or null
  bool gated = true;
  Activation activation = Activation::kSilu;
  ActivationParameters parameters = {};
  const Linear* down = nullptr;  // of each expert [E, F]
  DeviceAddress down_bias;       // [experts, E] f32 or null
  bool scale_inputs = false;     // the weights are factors of x instead of outputs
  bool accumulate = true;        // out += instead of out =
  ExchangeArgs hidden = {};      // columns of the hidden layer, where ranks share these and the outputs; see exchange()
  DeviceAddress census;          // [experts] u32 or null: how many rows of the step chose each
  std::span<const AdapterRows> up_adapters = {}, down_adapters = {};  // of rows of x, through all their experts
};

struct ActivateArgs {
  Activation activation = Activation::kSilu;
  ActivationParameters parameters = {};
  bool gated = false;
};

struct AddOptions {
  std::optional<Norm> norm = {};  // of x
  float scale = 1.0f;             // factor of what is added
};

struct ScaleOptions {
  float factor = 1.0f;
  float softcap = 0.0f;  // c tanh(x / c) of the product; 0 = none
};

// The angles of rotary embedding in double: p * inverse_frequency[i] for pair i of a token at position p.
struct RotaryAngles {
  std::span<const double> inverse_frequency;  // [rotated / 2]
  double factor = 1.0;                        // factor of cosines and sines
};

// A factor that grows with the position p: 1 + factor * ln(1 + floor((p + offset) / period)).
struct PositionScale {
  double factor = 0.0, period = 1.0, offset = 0.0;
};

// The operations of a step on views of a device's memory. A row of a result depends on that row of the input alone, bit
// for bit, whatever other rows, threads and chunks there are (law 3 of the architecture). All calls come from one
// thread, the engine's. Operations take effect in order, at the latest when Backend::synchronize() returns; until then
// everything that the arguments point to must stay. Sizes are the caller's responsibility and are DCHECKed; only
// allocation can fail.
class Operations {
 public:
  virtual ~Operations() = default;

  // Writes out[t] = row ids[t] of the weight as f32. out [T, k].
  virtual void gather(const Linear& weight, std::span<const std::int32_t> ids, const GatherOptions& options,
                      DeviceView out) = 0;
  // Writes out[i] = norm(row rows[i] of x), where the norm has a weight. out [rows, E]. No rows = all of x, which may
  // then be `out`.
  virtual void norm(const Norm& norm, std::span<const std::int64_t> rows, DeviceView x, DeviceView out) = 0;
  // Computes out [T, n] = x [T, k] W^T.
  virtual void linear(const Linear& weight, const LinearOptions& options, DeviceView x, DeviceView out) = 0;
  // Projects x [T, E] to queries, keys and values. Rotated queries stay in the columns [0, H*Dk) of qkv [T, H*Dk + K*Dk
  // + K*Dv]; rotated keys, and values, are rounded to the pages' type and stored in the sequences' pages.
  virtual void project_attention(const AttentionInputs& inputs, DeviceView x, DeviceView qkv) = 0;
  // Causal attention of the step's rows over paged keys and values. Online softmax as in FlashAttention-2
  // (arXiv:2307.08691), split over keys at fixed positions as in FlashDecoding, with pages as in arXiv:2309.06180. out
  // [T, H*Dv] f32.
  virtual void attend(const AttendArgs& args, DeviceView out) = 0;
  // x [T, E]; out [T, E] may be x if the result is added.
  virtual void mlp(const Mlp& mlp, DeviceView x, DeviceView out) = 0;

  // Chooses k of E experts for each row of logits [T, E]. routes [T, 2k]: the numbers of the experts as int32, then
  // their weights.
  virtual void route(const RouteArgs& args, DeviceView logits, DeviceView routes) = 0;
  // x [T, E]; routes [T, 2k] of route(); out [T, E] must not be x.
  virtual void experts(const Experts& experts, DeviceView x, DeviceView routes, DeviceView out) = 0;

  // out [T, F] = activation(x), x [T, F]; gated: activation(gate) * up, x [T, 2F] with gate in front. out may begin
  // where x does.
  virtual void activate(const ActivateArgs& args, DeviceView x, DeviceView out) = 0;
  // out += scale * norm(x), both [T, E].
  virtual void add(const AddOptions& options, DeviceView x, DeviceView out) = 0;
  // x = cap(factor * x), in place.
  virtual void scale(const ScaleOptions& options, DeviceView x) = 0;
  // x [T, n*w] *= f(gate [T, n]): column c by gate c / w. w = 1: a gate a channel; w = Dv: one a head.
  virtual void gate(GateFunction f, DeviceView gate, DeviceView x) = 0;
  // Writes cosines and sines of the angles at positions[t] to out[t]: rotated/2 of each. out [T, rotated].
  virtual void rotary_table(std::span<const std::int32_t> positions, const RotaryAngles& angles, DeviceView out) = 0;
  // Writes the factor at positions[t] to out[t], computed in double. out [T, 1].
  virtual void position_scale(std::span<const std::int32_t> positions, const PositionScale& scale, DeviceView out) = 0;
  // Reads rows of a table [slots, E] of f32 or bf16: out[i] = table[slots[i]] as f32. out [n, E].
  virtual void load_rows(DeviceView table, std::span<const std::int64_t> slots, DeviceView out) = 0;
  // Writes rows of a table, rounded to its type: table[slots[i]] = x[rows[i]]. Slots must differ.
  virtual void store_rows(DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                          DeviceView table) = 0;
  // The two ranges must not overlap.
  virtual void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) = 0;
  // Gives every rank what the others have computed of x [T, n] f32. All ranks must call it at the same point. It never
  // sums, so no result depends on the number of ranks.
  virtual void exchange(const ExchangeArgs& args, DeviceView x) = 0;
};

}  // namespace millrace::backend
