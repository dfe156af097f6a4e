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

// A model loaded for a benchmark, with the machine's limits that its results are compared with. Engines must not
// outlive it. One thread.
class ModelRun {
 public:
  // Loads the model. `probe_seconds` is the time to measure each limit of the machine. Throws LoadError.
  ModelRun(const app::ModelFlags& flags, double probe_seconds);

  // An engine on the model; `kv_tokens` is the size of its KV cache if the flags give none. A model without a tokenizer
  // gets one whose tokens have no text. Throws LoadError.
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
  double weight_bytes(double rows) const noexcept;  // of a step; see Transformer

  Json new_report(std::string_view command) const;  // bench::new_report() with "model" and "limits"
  // The resident bytes of the process, beside those of packed weights and of the pages of `engine`.
  Json memory(const engine::Engine& engine) const;
  // A line for people: "model.gguf: q4_0 (avx512_vnni int8), 98.4 MB of weights, loaded in 0.4 s; ..."
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

// Bytes of this process's memory that are in RAM; 0 if /proc does not say.
std::int64_t resident_bytes();

}  // namespace millrace::bench
