#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/device_kind.h"
#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/row_source.h"
#include "backend/cpu/step_program.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {

class PackedCache;
class AttentionPlan;

// The Backend of the processor. Operations are recorded as phases of a program that synchronize() runs on the worker
// team. Many rows are cut into blocks, and a free worker takes the next block through the whole operation; few rows
// are done by all workers together, each computing some of the columns.
class CpuBackend final : public Backend {
 public:
  CpuBackend(int threads, Isa isa, const PackedCacheConfig& packed_cache = {});
  ~CpuBackend() override;

  std::string description() const override;
  int threads() const noexcept override { return team_.size(); }
  Limits limits() const noexcept override;
  Result<DeviceBuffer> allocate(std::size_t bytes) override;
  void upload(std::span<const std::byte> from, DeviceAddress to) override;
  void download(DeviceAddress from, std::span<std::byte> out) override;
  void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) override;
  HostView host_view(const DeviceView& results) override;
  std::size_t kv_page_bytes(const KvFormat& format) const noexcept override;
  Result<void> check_kv_format(const KvFormat& format) const override;
  std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) override;
  void finish_loading() override;
  std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                           MatmulPrecision precision) const override;
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn) const noexcept override;
  void gather(const Linear& weight, std::span<const std::int32_t> ids, bool accumulate, DeviceView out) override;
  void norm(const Norm& norm, std::span<const std::int64_t> rows, DeviceView x, DeviceView out) override;
  void linear(const Linear& weight, const LinearOptions& options, DeviceView x, DeviceView out) override;
  void project_attention(const AttentionInputs& inputs, DeviceView x, DeviceView qkv) override;
  void attend(const AttendArgs& args, DeviceView out) override;
  void mlp(const Mlp& mlp, DeviceView x) override;
  void add_activated(Activation activation, DeviceView y, DeviceView x) override;
  void add(DeviceView x, DeviceView out) override;
  void rotary_table(std::span<const std::int32_t> positions, const RotaryAngles& angles, DeviceView out) override;
  void load_rows(DeviceView table, std::span<const std::int64_t> slots, DeviceView out) override;
  void store_rows(DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                  DeviceView table) override;
  void all_gather(DeviceView own, DeviceView all) override;
  void synchronize() override;

 private:
  // The rows of a product whose columns the workers share.
  struct SharedInput {
    RowSource source;
    const PackedLinear* weight;
    std::uint64_t own;  // each worker prepares them for itself, once: the number to remember that by; 0 = shared
  };

  void reserve_workers(std::size_t bytes);
  void reserve_blocks(const PackedLinear& weight, std::int64_t block);
  std::byte* memory_of(int worker) const noexcept { return worker_scratch_[static_cast<std::size_t>(worker)].data(); }
  // The first thing in a worker's memory: one row, normalised.
  float* normed_row(int worker) const noexcept { return reinterpret_cast<float*>(memory_of(worker)); }
  static std::size_t row_bytes(std::int64_t columns) noexcept;

  void begin_program();

  SharedInput share_input(const RowSource& source, const PackedLinear& weight);
  // The prepared rows; prepared by this worker now, if it has its own and has not done so.
  ActivationRows open_input(const SharedInput& input, int worker) noexcept;
  void multiply_columns(const RowSource& source, const PackedLinear& weight, const float* bias, bool accumulate,
                        TensorView out);
  void multiply_rows(const RowSource& source, const PackedLinear& weight, const float* bias, bool accumulate,
                     TensorView out, std::int64_t first, std::int64_t rows, int worker) const noexcept;
  void finish_head(const HostAttentionInputs& inputs, std::int64_t row, std::int64_t kv_head,
                   TensorView qkv) const noexcept;
  void mlp_blocks(const HostMlp& mlp, TensorView x, std::int64_t block);
  // Panels [first, last) of the hidden layer, for `rows` rows. `chunk`: room for a few columns of each.
  void activate_columns(const HostMlp& mlp, std::int64_t first, std::int64_t last, const ActivationRows& input,
                        std::int64_t rows, const ActivationRows& hidden, float* chunk) const noexcept;

  KernelSet kernels_;
  WeightArena arena_;
  std::unique_ptr<PackedCache> packed_cache_;  // while the model is loaded
  std::vector<std::unique_ptr<StepProgram>> programs_;
  StepProgram* program_;                 // the one being recorded
  Scratch input_, hidden_, partials_;    // shared by the workers during an operation
  std::vector<Scratch> worker_scratch_;  // of one each
  struct alignas(64) Prepared {
    std::uint64_t input = 0;  // the SharedInput::own that a worker's memory holds
  };
  std::vector<Prepared> prepared_;
  std::uint64_t inputs_ = 0;
  std::deque<AttentionPlan> plans_;  // of the attentions recorded; kept for their memory
  std::size_t plans_used_ = 0;
  WorkerTeam team_;  // last: its threads end before the programs that one may still be walking through
};

// The backend of the processor. kInvalidArgument for an instruction set this processor has not.
Result<std::unique_ptr<Backend>> make_cpu_backend(const BackendConfig& config);

}  // namespace millrace::backend::cpu
