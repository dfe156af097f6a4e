#pragma once

#include <cstdint>

#include "engine/utilization.h"
#include "runtime/serving_engine.h"

namespace millrace::runtime {

// Bytes that a model and an engine on it will take, before they are loaded, from the headers of their files. 0 where
// files cannot be read or the configuration is wrong: loading says why. Milliseconds.
std::uint64_t expected_bytes(const ModelConfig& model, const EngineConfig& engine);

// What this machine reads and computes at most, measured for `seconds` each on the threads of the model's backend,
// which must not compute meanwhile.
engine::MachinePeaks measured_peaks(const LoadedModel& loaded, double seconds);

// Numbers that the model was trained to.
std::int64_t parameters_of(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::runtime
