#pragma once

#include <memory>

#include "backend/machine_probe.h"
#include "backend/timed_backend.h"
#include "bench/report.h"
#include "engine/engine.h"
#include "engine_flags.h"
#include "model/model_work.h"
#include "model_flags.h"

namespace millrace::bench {

// A loaded model to measure, and the measured limits of the machine.
class ModelRun {
 public:
  ModelRun(const app::ModelFlags& flags, double probe_seconds);

  // An engine by the flags. Its KV cache has `kv_tokens` tokens if the flags give no size.
  app::ServingEngine make_engine(const app::EngineFlags& flags, std::int64_t kv_tokens) const;
  const model::Transformer& transformer() const noexcept { return *loaded_.transformer; }
  const app::LoadedModel& loaded() const noexcept { return loaded_; }
  const checkpoint::Checkpoint& checkpoint() const noexcept { return *loaded_.checkpoint; }
  const model::ModelWork& work() const noexcept { return work_; }
  backend::Arithmetic arithmetic() const noexcept { return arithmetic_; }
  backend::MachineProbe& probe() noexcept { return probe_; }
  const backend::TimedBackend& timed() const noexcept { return *timed_; }
  std::int64_t vocabulary() const noexcept { return transformer().spec().vocab_size; }
  std::int64_t block_tokens() const;
  double weight_bytes_per_token() const noexcept;

  Json new_report(std::string_view command) const;  // with "model" and "limits"
  // Bytes of the process beyond packed weights and the pages of `engine`.
  Json memory(const engine::Engine& engine) const;
  // "model.gguf: q4_0 (avx512_vnni int8), 98.4 MB of weights, 2 threads"
  std::string description() const;

 private:
  app::ModelFlags flags_;
  double load_seconds_ = 0.0;
  const backend::TimedBackend* timed_ = nullptr;  // loaded_'s backend
  app::LoadedModel loaded_;
  model::ModelWork work_;
  backend::Arithmetic arithmetic_;
  backend::MachineProbe probe_;
};

// Resident bytes of this process; 0 if the system does not report them.
std::int64_t resident_bytes();

}  // namespace millrace::bench
