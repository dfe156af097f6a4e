#include "loadtest/interference.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace millrace::loadtest {
namespace {

constexpr double kMaxSteal = 2.0, kMaxOthers = 5.0, kMaxThrottledSeconds = 0.1, kMaxBandwidthChange = 0.15;
constexpr std::chrono::seconds kBetweenReadings{1};

double percent(std::int64_t part, std::int64_t all) {
  return std::clamp(100.0 * static_cast<double>(part) / static_cast<double>(all), 0.0, 100.0);
}

// Ticks of the measured processes over all readings. One that begins or ends meanwhile counts for what was seen of it.
std::int64_t measured_ticks(std::span<const MachineReading> readings) {
  std::int64_t ticks = 0;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    for (const auto& [process, now] : readings[i].processes) {
      const auto before = readings[i - 1].processes.find(process);
      if (before != readings[i - 1].processes.end()) ticks += now - before->second;
    }
  }
  return ticks;
}

}  // namespace

Interference noise_of(std::span<const MachineReading> readings) {
  Interference noise;
  std::vector<double> mhz;
  for (const MachineReading& reading : readings) {
    mhz.insert(mhz.end(), reading.frequency_mhz.begin(), reading.frequency_mhz.end());
    if (reading.load_average) noise.load_average = std::max(noise.load_average.value_or(0.0), *reading.load_average);
  }
  if (!mhz.empty()) noise.frequency_mhz = metrics::spread_of(mhz);
  if (readings.size() < 2) return noise;
  const MachineReading &first = readings.front(), &last = readings.back();
  if (first.ticks && last.ticks && last.ticks->all > first.ticks->all) {
    const std::int64_t all = last.ticks->all - first.ticks->all;
    noise.steal_percent = percent(last.ticks->steal - first.ticks->steal, all);
    noise.other_cpu_percent = percent(last.ticks->busy - first.ticks->busy - measured_ticks(readings), all);
  }
  if (first.throttled_s && last.throttled_s) noise.throttled_s = *last.throttled_s - *first.throttled_s;
  judge(noise);
  return noise;
}

void judge(Interference& noise) {
  noise.reasons.clear();
  if (noise.steal_percent.value_or(0.0) > kMaxSteal) {
    noise.reasons.push_back(
        fmt::format("The hypervisor gave {:.1f} % of the processors' time to others (limit {:g} %).",
                    *noise.steal_percent, kMaxSteal));
  }
  if (noise.other_cpu_percent.value_or(0.0) > kMaxOthers) {
    noise.reasons.push_back(fmt::format("Other processes took {:.1f} % of the processors' time (limit {:g} %).",
                                        *noise.other_cpu_percent, kMaxOthers));
  }
  if (noise.throttled_s.value_or(0.0) > kMaxThrottledSeconds) {
    noise.reasons.push_back(
        fmt::format("The control group stopped the client's threads for {:.2f} s.", *noise.throttled_s));
  }
  if (noise.read_gb_s_before.value_or(0.0) > 0.0 && noise.read_gb_s_after.value_or(0.0) > 0.0) {
    const double before = *noise.read_gb_s_before, after = *noise.read_gb_s_after;
    if (std::max(before, after) / std::min(before, after) > 1 + kMaxBandwidthChange) {
      noise.reasons.push_back(fmt::format("The memory gave {:.1f} GB/s before and {:.1f} GB/s after.", before, after));
    }
  }
  noise.noisy = !noise.reasons.empty();
}

struct InterferenceWatch::State {
  std::vector<std::int64_t> processes;
  ReadText read;
  std::vector<MachineReading> readings;  // the thread's own until it has ended
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  std::thread thread;

  void watch() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, kBetweenReadings, [&] { return stopping; })) {
      readings.push_back(read_machine(processes, read));
    }
  }
  void end() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }
};

InterferenceWatch::InterferenceWatch(std::vector<std::int64_t> processes, ReadText read)
    : state_(std::make_unique<State>()) {
  processes.push_back(getpid());
  state_->processes = std::move(processes);
  state_->read = std::move(read);
  state_->readings.push_back(read_machine(state_->processes, state_->read));
  state_->thread = std::thread([state = state_.get()] { state->watch(); });
}

InterferenceWatch::~InterferenceWatch() { state_->end(); }

Interference InterferenceWatch::stop() {
  state_->end();
  state_->readings.push_back(read_machine(state_->processes, state_->read));
  return noise_of(state_->readings);
}

}  // namespace millrace::loadtest
