#include "loadtest/watch/server_watch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "loadtest/watch/energy.h"
#include "metrics/prometheus_text.h"

namespace millrace::loadtest {
namespace {

using metrics::MetricsReading;
using report::ServerFacts;
using report::ServerSamples;

constexpr std::size_t kReadingsOfAFamily = 20;
constexpr double kUnknown = WatchedMetrics::kUnknown;

// Counters whose increase says what the run did, by the name they have in reports.
struct Counter {
  const char* name;
  double WatchedMetrics::* member;
};
constexpr std::array<Counter, 8> kCounters = {{{"prompt_tokens", &WatchedMetrics::prompt_tokens},
                                               {"generation_tokens", &WatchedMetrics::generation_tokens},
                                               {"cached_tokens", &WatchedMetrics::cached_tokens},
                                               {"preemptions", &WatchedMetrics::preemptions},
                                               {"drafts", &WatchedMetrics::drafts},
                                               {"draft_tokens", &WatchedMetrics::draft_tokens},
                                               {"accepted_tokens", &WatchedMetrics::accepted_tokens},
                                               {"recomputed_tokens", &WatchedMetrics::recomputed_tokens}}};

// NaN where it is not there any more. One that was not there yet has counted nothing; a server that began anew counts
// from 0 again: no decrease.
double increase(const WatchedMetrics& before, const WatchedMetrics& after, double WatchedMetrics::* member) {
  const double had = std::isnan(before.*member) ? 0.0 : before.*member;
  const double change = after.*member - had;
  return change < 0.0 ? 0.0 : change;
}

// A use of more than the limit: what was taken for the limit was measured while other work ran. A server says NaN then.
bool exceeds_limit(double percent) { return percent > 100.0; }

std::optional<double> where_positive(double value) { return value > 0.0 ? std::optional(value) : std::nullopt; }

}  // namespace

ServerWatch::ServerWatch(const Target& target, pid_t process, std::chrono::milliseconds interval)
    : interval_(interval), getter_(target), process_(process) {
  readings_.push_back(read());
  processes_ = last_process_.pids;
  thread_ = std::thread([this] { run(); });
}

ServerWatch::~ServerWatch() { end(); }

ServerWatch::Reading ServerWatch::read() {
  Reading reading{.at = Clock::now(), .metrics = {}, .resident_bytes = {}, .cpu_seconds = {}, .energy_joules = {}};
  if (metrics_) {
    const auto text = getter_.get("/metrics");
    if (const auto parsed = text ? MetricsReading::parse(*text) : Result<MetricsReading>(text.error()); parsed) {
      reading.metrics = watched_metrics(*parsed);
      if (!kv_capacity_) kv_capacity_ = kv_capacity_tokens(*parsed);
    }
    if (!text && text.error().code == ErrorCode::kNotFound) metrics_ = false;  // it has none: not asked again
  }
  if (process_ > 0) {
    if (readings_.size() % kReadingsOfAFamily == 0) family_ = family_of(process_);
    if (ProcessReading process = read_processes(family_); !process.pids.empty()) {
      reading.resident_bytes = static_cast<double>(process.resident_bytes);
      reading.cpu_seconds = process.cpu_seconds;
      last_process_ = std::move(process);
    }
    reading.energy_joules = package_energy_joules();
  }
  return reading;
}

void ServerWatch::run() {
  std::unique_lock lock(mutex_);
  while (!woken_.wait_for(lock, interval_, [this] { return ending_; })) {
    lock.unlock();
    readings_.push_back(read());
    lock.lock();
  }
}

void ServerWatch::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::size_t ServerWatch::first_of(TimePoint started) const {
  const auto late = std::ranges::find_if(readings_, [&](const Reading& r) { return r.at >= started; });
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, late - readings_.begin() - 1));
}

void ServerWatch::add_processes(const Reading& first, const Reading& last, ServerFacts& facts) const {
  if (last_process_.pids.empty()) return;
  facts.resident_peak_bytes = static_cast<double>(last_process_.resident_peak_bytes);
  if (first.cpu_seconds) facts.cpu_seconds = last_process_.cpu_seconds - *first.cpu_seconds;
  if (first.energy_joules && last.energy_joules) {
    facts.energy_joules = where_positive(*last.energy_joules - *first.energy_joules);
  }
}

ServerSamples ServerWatch::samples_from(std::size_t first, TimePoint started, double read_gb_s) const {
  ServerSamples samples;
  bool known = false;
  const Reading* before = readings_[first].metrics ? &readings_[first] : nullptr;  // that found /metrics
  for (const Reading& reading : std::span(readings_).subspan(first + 1)) {
    const WatchedMetrics now = reading.metrics.value_or(WatchedMetrics());
    const auto rate = [&](double WatchedMetrics::* member) {
      if (before == nullptr) return kUnknown;
      return increase(*before->metrics, now, member) / (milliseconds_between(before->at, reading.at) * 1e-3);
    };
    samples.t.push_back(milliseconds_between(started, reading.at) * 1e-3);
    samples.running.push_back(now.running);
    samples.waiting.push_back(now.waiting);
    samples.kv_used.push_back(now.kv_used);
    samples.prefill_tok_s.push_back(rate(&WatchedMetrics::prompt_tokens));
    samples.decode_tok_s.push_back(rate(&WatchedMetrics::generation_tokens));
    const double mbu =
        read_gb_s > 0.0 ? 100.0 * rate(&WatchedMetrics::read_bytes) * 1e-9 / read_gb_s : 100.0 * now.bandwidth_share;
    samples.mbu_percent.push_back(exceeds_limit(mbu) ? kUnknown : mbu);
    samples.resident_bytes.push_back(reading.resident_bytes.value_or(kUnknown));
    known = known || reading.metrics || reading.resident_bytes;
    if (reading.metrics) before = &reading;
  }
  return known ? samples : ServerSamples();
}

std::pair<ServerFacts, ServerSamples> ServerWatch::finish(TimePoint started, const ServedModel& model,
                                                          double read_gb_s) {
  end();
  readings_.push_back(read());
  ServerFacts facts;
  facts.model_bytes = where_positive(static_cast<double>(model.weight_bytes));
  facts.kv_bytes_per_token = where_positive(static_cast<double>(model.kv_bytes_per_token));
  facts.kv_capacity_tokens = kv_capacity_;
  const std::size_t first_index = first_of(started);
  const Reading &first = readings_[first_index], &last = readings_.back();
  add_processes(first, last, facts);
  ServerSamples samples = samples_from(first_index, started, read_gb_s);
  if (!first.metrics || !last.metrics) return {std::move(facts), std::move(samples)};

  const WatchedMetrics &before = *first.metrics, &after = *last.metrics;
  for (const Counter& counter : kCounters) {
    const double change = increase(before, after, counter.member);
    if (!std::isnan(change)) facts.counters.emplace_back(counter.name, change);
  }
  const double busy = increase(before, after, &WatchedMetrics::step_seconds);
  if (!(busy > 0.0)) return {std::move(facts), std::move(samples)};
  if (read_gb_s > 0.0) {
    facts.read_gb_s = read_gb_s;
    facts.mbu_percent =
        where_positive(100.0 * increase(before, after, &WatchedMetrics::read_bytes) * 1e-9 / busy / read_gb_s);
  } else {
    facts.mbu_percent = where_positive(100.0 * after.bandwidth_share);
  }
  // Only the server knows with which arithmetic it multiplies.
  facts.mfu_percent = where_positive(100.0 * after.compute_share);
  for (std::optional<double>* percent : {&facts.mbu_percent, &facts.mfu_percent}) {
    if (!*percent || !exceeds_limit(**percent)) continue;
    percent->reset();
    facts.limit_exceeded = true;
  }
  return {std::move(facts), std::move(samples)};
}

}  // namespace millrace::loadtest
