#include "runtime/serving_memory.h"

#include <algorithm>

#include "backend/cpu/probe.h"
#include "model/make_spec.h"
#include "model/memory_plan.h"
#include "runtime/adapter_memory.h"

namespace millrace::runtime {
namespace {

std::uint64_t planned_bytes(const checkpoint::Checkpoint& files, const ModelConfig& config, backend::Backend& backend,
                            std::int64_t tokens, std::int64_t sequences) {
  const model::ModelSpec spec = model::make_spec(files).or_throw();
  const auto plan = model::plan_memory(model::CheckpointWeights(files), spec, backend,
                                       {.precision = config.precision(),
                                        .quantization = quantization_of(config, files, spec, backend),
                                        .kv = config.kv_pages(),
                                        .length = tokens,
                                        .sequences = sequences});
  return plan.weights + plan.kv;
}

// Of a draft model, or of heads.
std::uint64_t speculation_bytes(const SpeculationConfig& speculation, const ModelConfig& config,
                                backend::Backend& backend, std::int64_t tokens) {
  const draft::DrafterKind* kind = draft::find_drafter(speculation.method);
  if (kind == nullptr || speculation.model.empty()) return 0;
  std::uint64_t bytes = 0;
  if (kind->needs == draft::Needs::kModel) {
    const auto files = checkpoint::open_checkpoint(Env::system(), speculation.model).or_throw();
    ModelConfig of_draft = config;  // whose weights stay as they are stored
    of_draft.quantization.clear();
    of_draft.imatrix.clear();
    of_draft.memory = 0;
    bytes += planned_bytes(*files, of_draft, backend, tokens, 0);
  }
  if (kind->weight_bytes != nullptr) {
    draft::DrafterOptions heads;
    heads.heads = speculation.model;
    heads.place.backend = &backend;
    heads.place.precision = config.precision();
    bytes += kind->weight_bytes(heads).or_throw();
  }
  return bytes;
}

engine::MachinePeaks peaks_of(const backend::cpu::MachineLimits& limits, double hosts) {
  return {.read_gb_s = hosts * limits.read_gb_s,
          .gop_s = hosts * std::max({limits.int8_gop_s, limits.bf16_gflop_s, limits.f32_gflop_s})};
}

}  // namespace

std::uint64_t expected_bytes(const ModelConfig& model, const EngineConfig& engine) {
  try {
    const auto files = checkpoint::open_checkpoint(Env::system(), model.path).or_throw();
    const auto backend = model.make_backend(1);
    std::uint64_t bytes = planned_bytes(*files, model, *backend, engine.kv_cache_tokens, engine.max_num_seqs);
    if (engine.kv_cache_tokens == 0) bytes += engine.kv_cache_bytes > 0 ? engine.kv_cache_bytes : kServingKvBytes;
    bytes += expected_adapter_bytes(engine.adapters, model.ranks.ranks());
    return bytes + speculation_bytes(engine.speculation, model, *backend, engine.kv_cache_tokens);
  } catch (const LoadError&) {
    return 0;
  }
}

engine::MachinePeaks measured_peaks(const LoadedModel& loaded, double seconds) {
  return peaks_of(backend::cpu::measure_limits(loaded.threads_on_host(), detect_isa(), seconds), loaded.hosts());
}

engine::MachinePeaks peaks_measured_within(const LoadedModel& loaded, double seconds) {
  return peaks_of(backend::cpu::measure_limits_within(loaded.threads_on_host(), detect_isa(), seconds), loaded.hosts());
}

}  // namespace millrace::runtime
