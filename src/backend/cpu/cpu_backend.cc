#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>

#include "backend/cpu/attention_plan.h"
#include "backend/cpu/pack.h"
#include "backend/cpu/packed_cache.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/packed_low_rank.h"
#include "backend/cpu/packed_row_delta.h"
#include "base/check.h"
#include "base/cpu_quota.h"

namespace millrace::backend::cpu {

Result<std::unique_ptr<Backend>> make_cpu_backend(const BackendConfig& config) {
  const auto isa = choose_isa(config.isa);
  if (!isa) return isa.error();
  if (config.threads < 0 || config.threads > 1024) {
    return make_error(ErrorCode::kInvalidArgument, "threads", "threads is {}, must be 0 (all) to 1024", config.threads);
  }
  const int threads = config.threads > 0 ? config.threads : usable_threads();
  return std::unique_ptr<Backend>(
      std::make_unique<CpuBackend>(threads, *isa, config.packed_cache, config.iq_panels, config.communicator));
}

namespace {

KernelSet kernels_for(Isa isa, IqPanels panels) {
  KernelSet kernels = select_kernels(isa);
  if (panels == IqPanels::kCompact) {
    std::ranges::stable_partition(kernels.linears, [](const LinearKernel& k) { return k.name == kCompactKernel; });
  }
  return kernels;
}

}  // namespace

CpuBackend::CpuBackend(int threads, Isa isa, const PackedCacheConfig& packed_cache, IqPanels panels,
                       std::shared_ptr<comm::Communicator> communicator)
    : kernels_(kernels_for(isa, panels)),
      programs_(threads),
      program_(programs_.begin()),
      workers_(threads),
      products_(kernels_, workers_, threads),
      ranks_(communicator ? std::make_unique<RankExchange>(std::move(communicator)) : nullptr),
      team_(threads) {
  if (!packed_cache.directory.empty()) packed_cache_ = std::make_unique<PackedCache>(packed_cache, Env::system());
}

CpuBackend::~CpuBackend() = default;

void CpuBackend::finish_loading() {
  if (packed_cache_) packed_cache_->finish();
  packed_cache_.reset();
}

void CpuBackend::synchronize() {
  if (program_->empty()) return;
  team_.offer(*program_);
  program_ = programs_.begin();
  plans_used_ = 0;
  products_.end_step();
  shared_hidden_.end_step();
  if (ranks_) ranks_->check();
}

void CpuBackend::for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) {
  std::atomic<std::int64_t> next{0};
  team_.run([&](int) {
    for (std::int64_t i = next.fetch_add(1); i < items; i = next.fetch_add(1)) item(i);
  });
}

std::string CpuBackend::description() const {
  return fmt::format("cpu {}, {} thread{}", to_string(kernels_.isa), team_.size(), team_.size() == 1 ? "" : "s");
}

std::unique_ptr<Linear> CpuBackend::make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) {
  return std::make_unique<PackedLinear>(std::move(sources), kernels_, precision, team_, arena_, packed_cache_.get());
}

// With a team of the caller alone, as the other one may be running a step.
std::vector<std::unique_ptr<LowRank>> CpuBackend::make_low_ranks(std::vector<LowRankSource> sources,
                                                                 MatmulPrecision precision) {
  WorkerTeam alone(1);
  WeightArena arena;
  std::vector<std::unique_ptr<LowRank>> made;
  for (LowRankSource& source : sources) {
    made.push_back(std::make_unique<PackedLowRank>(std::move(source), precision, kernels_, alone, arena));
  }
  return made;
}

std::unique_ptr<LowRank> CpuBackend::make_row_delta(RowDeltaSource source) {
  WorkerTeam alone(1);
  WeightArena arena;
  return std::make_unique<PackedRowDelta>(std::move(source), kernels_, alone, arena);
}

std::size_t CpuBackend::packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                                     MatmulPrecision precision) const {
  return PackedLinear::bytes(kernels_, format, rows, cols, precision);
}

}  // namespace millrace::backend::cpu
