#pragma once

#include <cstdint>

#include "engine/utilization.h"
#include "runtime/serving_engine.h"

namespace millrace::runtime {

// Bytes of weights and KV pages of a model and an engine that are not loaded yet, with a draft model or speculator and
// what is kept for adapters.
// Reads file headers, which takes milliseconds. 0 if a file cannot be read or the configuration is invalid: loading
// reports the error.
std::uint64_t expected_bytes(const ModelConfig& model, const EngineConfig& engine);

// Peak read bandwidth and arithmetic of this machine, each measured for `seconds` on as many threads as the model's
// ranks have here; times the hosts, where there are several. The backend must not compute meanwhile.
engine::MachinePeaks measured_peaks(const LoadedModel& loaded, double seconds);

// The same for a quiet moment, in about `seconds` in all; a peak is 0 where that does not suffice.
engine::MachinePeaks peaks_measured_within(const LoadedModel& loaded, double seconds);

}  // namespace millrace::runtime
