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
#include "backend/operations.h"
#include "base/result.h"
#include "quant/format.h"

namespace millrace::backend {

struct LowRankSource;  // low_rank.h
struct RowDeltaSource;

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
  // The matrices [rows, cols] of so many experts, one behind the other: read() takes rows in [0, experts * rows).
  std::int64_t experts = 1;
  // What each expert's matrix is multiplied by; empty = 1.
  std::vector<float> factors = {};
  // How many of the first rows, in whole groups of RoundingStatistics, are not counted there, as another rank has them.
  std::int64_t uncounted_rows = 0;
};

// Statistics over the outputs of a weight in groups of 16: `moved` counts those of `outputs` that int8 rounding changed
// by more than 1/64 of the group's length.
struct RoundingStatistics {
  std::string weight;
  std::int64_t outputs = 0, moved = 0;
};

// y = x W^T for one weight matrix [n, k], or for several of equal k stacked along n (Q, K and V; gate and up). Packed
// for the device when made; const afterwards. With WeightSource::experts it is as many of these, each for itself.
class Linear {
 public:
  virtual ~Linear() = default;
  virtual std::int64_t n() const noexcept = 0;
  virtual std::int64_t k() const noexcept = 0;
  virtual std::int64_t experts() const noexcept { return 1; }
  virtual std::size_t packed_bytes() const noexcept = 0;
  virtual std::string description() const = 0;  // format and kernel: "q4_1 (avx512_vnni int8)"
  // Row `row` as the products see it, f32 [k], with its columns in the order of x. Those of expert e are n behind those
  // of e - 1. Any thread.
  virtual void unpack_row(std::int64_t row, float* out) const = 0;

  // Between start_rounding_statistics() and take_rounding_statistics(), products also count the effect of rounding
  // their activations to int8. Neither may be called between an operation and synchronize(). See model/outliers.h.
  virtual bool has_int8_activations() const noexcept { return false; }
  virtual void start_rounding_statistics() {}
  // One entry for each stacked weight with int8 activations.
  virtual std::vector<RoundingStatistics> take_rounding_statistics() { return {}; }
  // Uses two int8 terms for the activations of the stacked weight of that name from now on, as MatmulPrecision::kInt8x2
  // does for all. Does nothing if it has no int8 activations.
  virtual void set_int8x2(std::string_view) {}

  // What was packed has checksums, part by part: how many parts there are, 0 where the device takes none, and the name
  // of the stacked weight if a part is not what it was. A part takes some microseconds. Any thread, beside products.
  virtual std::size_t checked_parts() const noexcept { return 0; }
  virtual std::optional<std::string_view> damage(std::size_t /*part*/) const noexcept { return std::nullopt; }
};

// The largest dimensions that a device's operations support.
struct Limits {
  std::int64_t max_key_dim = 0, max_value_dim = 0;  // Dk, Dv
  std::int64_t max_group = 0;                       // query heads per key/value head, H / K; 0 = any number
};

// One device's memory and stream: its operations are done when synchronize() returns. All calls come from one thread,
// the engine's.
class Backend : public Operations {
 public:
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
  // Results computed before the last synchronize(), for reading on the host. Costs nothing if the device shares the
  // host's memory.
  virtual HostView host_view(const DeviceView& results) = 0;

  // Bytes of one page of one layer. The format must have the layer's heads.
  virtual std::size_t kv_page_bytes(const KvFormat& format) const noexcept = 0;
  // Whether the device has such pages. kInvalidArgument names kv-layout or block-size.
  virtual Result<void> check_kv_format(const KvFormat& format) const = 0;

  // Numbers written to pages since the last call that did not fit, some of them if there are many. Call it after
  // synchronize().
  virtual std::vector<KvOverflow> take_kv_overflows() { return {}; }

  // Packs weights. Reads each source once, panel by panel, so that peak memory is the packed size plus a few rows.
  // Throws LoadError for an unreadable source or lack of memory.
  virtual std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) = 0;

  // Packs what one adapter adds to Linears of this backend, in the order of the list. In memory of their own, which is
  // freed with the last of them. On the calling thread, any one, also while a step runs. Throws LoadError.
  virtual std::vector<std::unique_ptr<LowRank>> make_low_ranks(std::vector<LowRankSource> sources,
                                                               MatmulPrecision precision) = 0;
  // The same for the rows of a Linear that gather() reads.
  virtual std::unique_ptr<LowRank> make_row_delta(RowDeltaSource source) = 0;

  // Must be called after all weights of the model have been made.
  virtual void finish_loading() = 0;

  // Bytes that make_linear() takes for one matrix; of experts each takes as many. Reads nothing.
  virtual std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                                   MatmulPrecision precision) const = 0;
  // Upper bound of the backend's own memory in a step of T = `rows` rows of a model with these E and F, and columns in
  // one order. `routed`: rows of experts' inputs for each row, the most experts that it chooses; F is then the widest
  // of MLPs and experts.
  virtual std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn,
                                      std::int64_t routed) const noexcept = 0;

  // Ranks are devices that compute the same step in parallel, each with some rows of some weights. rank() is this one's
  // number, in [0, ranks()).
  virtual int ranks() const noexcept { return 1; }
  virtual int rank() const noexcept { return 0; }
  // Returns when all operations called so far are done. Throws LoadError (kUnavailable) naming the rank that an
  // exchange waited for in vain: nothing of what was computed can be trusted then, and the ranks are of no more use.
  virtual void synchronize() = 0;
  // Calls item(i) for each i in [0, items) on the host, on the calling thread and on the device's own host threads, if
  // there are any. For work on results that is left to the host. Call it after synchronize(); item must not throw.
  virtual void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) {
    for (std::int64_t i = 0; i < items; ++i) item(i);
  }
};

}  // namespace millrace::backend
