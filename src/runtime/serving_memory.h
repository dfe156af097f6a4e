#pragma once

#include <cstdint>

#include "engine/utilization.h"
#include "runtime/serving_engine.h"

namespace millrace::runtime {

// Estimates the bytes that a model and an engine on it will take, from the headers of the files alone. 0 if a file
// cannot be read or the configuration is invalid; loading then reports why. Takes milliseconds.
std::uint64_t expected_bytes(const ModelConfig& model, const EngineConfig& engine);

// Measures the machine's peaks of memory reads and of arithmetic, for `seconds` each, on the threads of the model's
// backend. The backend must be idle.
engine::MachinePeaks measured_peaks(const LoadedModel& loaded, double seconds);

// The number of the model's parameters.
std::int64_t parameters_of(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::runtime
