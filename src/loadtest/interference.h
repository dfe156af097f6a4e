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

// What else the client's machine did during a measurement. Absent: unknown.
struct Interference {
  // Share of all processors' time in which the hypervisor ran another machine.
  std::optional<double> steal_percent;
  std::optional<double> other_cpu_percent;       // share of all processors' time of processes outside the measurement
  std::optional<double> load_average;            // highest load average over a minute
  std::optional<metrics::Spread> frequency_mhz;  // over processors and readings
  std::optional<double> throttled_s;             // seconds for which the control group stopped this process's threads
  std::optional<double> read_gb_s_before, read_gb_s_after;  // memory bandwidth, if the caller measured it
  bool noisy = false;
  std::vector<std::string> reasons;  // why it is noisy, one sentence each

  const char* verdict() const noexcept { return noisy ? "noisy" : "quiet"; }
};

// The interference between the first and the last of a run's readings, which are in order. Fewer than two tell little.
// Sets everything but the bandwidth.
Interference noise_of(std::span<const MachineReading> readings);

// Sets `noisy` and `reasons` from the other fields: more than 2 % stolen, more than 5 % taken by other processes,
// threads stopped for more than 0.1 s, or a bandwidth that changed by more than 15 %. A lower clock frequency is no
// reason, since idle processors lower it.
void judge(Interference& noise);

// Takes a reading once per second on a thread of its own, until stop().
class InterferenceWatch {
 public:
  // `processes` are the ids of the measured processes; this one is always included.
  explicit InterferenceWatch(std::vector<std::int64_t> processes, ReadText read = read_system_text);
  ~InterferenceWatch();
  InterferenceWatch(const InterferenceWatch&) = delete;
  InterferenceWatch& operator=(const InterferenceWatch&) = delete;

  Interference stop();  // call it once; takes a last reading and judges

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::loadtest
