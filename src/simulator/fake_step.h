#pragma once

#include <cstdint>
#include <vector>

#include "model/batch_input.h"
#include "simulator/fake_device.h"

namespace millrace::simulator {

// A step of the fake model, in the parts in which ranks compute it.

inline constexpr std::int64_t kStateSize = 8;  // numbers of a final hidden state

// The rows whose states are computed, ascending: those that something is wanted of, and the last one of each sequence.
std::vector<std::int64_t> computed_rows(const model::BatchInput& input);
// Writes the stamps of all rows, in window pages too where the device has them.
void write_stamps(const model::BatchInput& input, FakeDevice& device);
// What these heads add to the states of those rows, as their pages say. `window`: of the window pages; 0: there are
// none.
std::vector<std::uint64_t> sum_rows(const model::BatchInput& input, std::span<const std::int64_t> rows,
                                    FakeDevice& device, const FakeHeads& heads, std::int64_t window);

// What rank 0 gets of a step: [rows, V], [rows, V] and [rows, kStateSize].
struct FakeResults {
  std::vector<float> logits, scored, hidden;
};
// The results that these states of computed_rows() are.
FakeResults results_of(const model::BatchInput& input, std::span<const std::int64_t> rows,
                       std::span<const std::uint64_t> states, std::int64_t vocab_size);

}  // namespace millrace::simulator
