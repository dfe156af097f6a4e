#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loadtest/machine_reading.h"
#include "metrics/statistics.h"

namespace millrace::loadtest {

// What the machine of the client did meanwhile beside the work that was measured. Absent: unknown.
struct Interference {
  std::optional<double> steal_percent;      // of all processors' time: the hypervisor ran another machine
  std::optional<double> other_cpu_percent;  // of all processors' time: processes that are not part of the measurement
  std::optional<double> load_average;       // the highest seen, of a minute
  std::optional<metrics::Spread> frequency_mhz;             // over processors and readings
  std::optional<double> throttled_s;                        // the control group stopped this process's threads
  std::optional<double> read_gb_s_before, read_gb_s_after;  // where the caller probed the memory's bandwidth
  bool noisy = false;
  std::vector<std::string> reasons;  // why it is noisy, one sentence each

  const char* verdict() const noexcept { return noisy ? "noisy" : "quiet"; }
};

// From readings of one run in their order; fewer than two say little. Fills all but the bandwidth.
Interference noise_of(std::span<const MachineReading> readings);

// Says what is noisy, into `noisy` and `reasons`, from the figures alone: more than 2 % stolen, more than 5 % taken by
// others, threads stopped for more than 0.1 s, a bandwidth that changed by more than 15 %. A processor that clocks
// itself down is no reason: an idle one does.
void judge(Interference& noise);

// Reads once a second on a thread of its own, until stop().
class InterferenceWatch {
 public:
  // `processes`: ids of those that are measured; this one is always among them.
  explicit InterferenceWatch(std::vector<std::int64_t> processes, ReadText read = read_system_text);
  ~InterferenceWatch();
  InterferenceWatch(const InterferenceWatch&) = delete;
  InterferenceWatch& operator=(const InterferenceWatch&) = delete;

  Interference stop();  // once; a last reading, judged

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::loadtest
