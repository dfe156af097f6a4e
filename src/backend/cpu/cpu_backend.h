#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/device_kind.h"
#include "backend/cpu/kv_overflows.h"
#include "backend/cpu/expert_adapters.h"
#include "backend/cpu/expert_plan.h"
#include "backend/cpu/host_memory_backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/products.h"
#include "backend/cpu/rank_exchange.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/step_program.h"
#include "backend/cpu/weight_arena.h"
#include "backend/cpu/worker_memory.h"
#include "base/worker_team.h"

namespace millrace::backend::cpu {

class PackedCache;
class AttentionPlan;

// The Backend of the processor. It records operations as phases of a program that synchronize() runs on the worker
// team. With many rows, they are cut into blocks, and each free worker takes the next block through the whole
// operation. With few rows, all workers share each operation, and each computes some of the columns.
class CpuBackend final : public HostMemoryBackend {
 public:
  CpuBackend(int threads, Isa isa, const PackedCacheConfig& packed_cache = {}, IqPanels panels = IqPanels::kFast,
             std::shared_ptr<comm::Communicator> communicator = nullptr);
  ~CpuBackend() override;

  std::string description() const override;
  int threads() const noexcept override { return team_.size(); }
  std::vector<KvOverflow> take_kv_overflows() override { return overflows_.take(); }
  std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) override;
  std::vector<std::unique_ptr<LowRank>> make_low_ranks(std::vector<LowRankSource> sources,
                                                       MatmulPrecision precision) override;
  std::unique_ptr<LowRank> make_row_delta(RowDeltaSource source) override;
  void finish_loading() override;
  std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                           MatmulPrecision precision) const override;
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn,
                              std::int64_t routed) const noexcept override;
  void gather(const Linear& weight, std::span<const std::int32_t> ids, const GatherOptions& options,
              DeviceView out) override;
  void norm(const Norm& norm, std::span<const std::int64_t> rows, DeviceView x, DeviceView out) override;
  void linear(const Linear& weight, const LinearOptions& options, DeviceView x, DeviceView out) override;
  void project_attention(const AttentionInputs& inputs, DeviceView x, DeviceView qkv) override;
  void attend(const AttendArgs& args, DeviceView out) override;
  void mlp(const Mlp& mlp, DeviceView x, DeviceView out) override;
  void route(const RouteArgs& args, DeviceView logits, DeviceView routes) override;
  void experts(const Experts& experts, DeviceView x, DeviceView routes, DeviceView out) override;
  void activate(const ActivateArgs& args, DeviceView x, DeviceView out) override;
  void add(const AddOptions& options, DeviceView x, DeviceView out) override;
  void scale(const ScaleOptions& options, DeviceView x) override;
  void gate(GateFunction f, DeviceView gate, DeviceView x) override;
  void rotary_table(std::span<const std::int32_t> positions, const RotaryAngles& angles, DeviceView out) override;
  void position_scale(std::span<const std::int32_t> positions, const PositionScale& scale, DeviceView out) override;
  void load_rows(DeviceView table, std::span<const std::int64_t> slots, DeviceView out) override;
  void store_rows(DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                  DeviceView table) override;
  void exchange(const ExchangeArgs& args, DeviceView x) override;
  int ranks() const noexcept override { return ranks_ ? ranks_->ranks() : 1; }
  int rank() const noexcept override { return ranks_ ? ranks_->rank() : 0; }
  void synchronize() override;
  void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) override;

 private:
  struct ExpertStep;
  struct ExpertPhases;
  struct SharedMlp;
  void share_hidden(ExpertStep& step);
  void record_product(const CutRows& rows, const ProductOutput& output);
  void record_product(const RowSource& source, const PackedLinear& weight, const ProductOutput& output);
  void record_down(const HostMlp& mlp, std::int64_t rows, const AdapterForm& down_form, const ApartRows& apart,
                   TensorView out);

  KernelSet kernels_;
  WeightArena arena_;
  std::unique_ptr<PackedCache> packed_cache_;  // while the model is loaded
  StepPrograms programs_;
  StepProgram* program_;         // the one being recorded
  Scratch hidden_, partials_;    // shared by the workers during an operation
  Scratch adapter_hidden_;       // likewise: hidden rows as adapters read them
  PinnedScratch shared_hidden_;  // hidden rows that ranks share, f32
  ExpertPlan expert_plan_;
  ExpertAdapters expert_up_, expert_down_;
  WorkerMemory workers_;
  Products products_;
  std::deque<AttentionPlan> plans_;  // of the attentions recorded; kept for their memory
  std::size_t plans_used_ = 0;
  KvOverflows overflows_;
  std::unique_ptr<RankExchange> ranks_;  // null: there is one
  WorkerTeam team_;  // last: its threads end before the programs that one may still be walking through
};

// Makes the backend of the processor. kInvalidArgument for an instruction set that it does not have.
Result<std::unique_ptr<Backend>> make_cpu_backend(const BackendConfig& config);

}  // namespace millrace::backend::cpu
