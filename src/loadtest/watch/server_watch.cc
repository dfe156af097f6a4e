#include "loadtest/watch/server_watch.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "loadtest/watch/energy.h"

namespace millrace::loadtest {
namespace {

using report::ServerFacts;
using report::ServerSamples;
using server::observe::MetricsReading;

constexpr std::chrono::milliseconds kInterval{500};
constexpr std::size_t kReadingsOfAFamily = 20;

// Counters whose increase says what the run did, by the name they have in reports.
struct Counter {
  const char *name, *metric;
};
constexpr std::array<Counter, 8> kCounters = {{{"prompt_tokens", "vllm:prompt_tokens_total"},
                                               {"generation_tokens", "vllm:generation_tokens_total"},
                                               {"cached_tokens", "vllm:prefix_cache_hits_total"},
                                               {"preemptions", "vllm:num_preemptions_total"},
                                               {"drafts", "vllm:spec_decode_num_drafts_total"},
                                               {"draft_tokens", "vllm:spec_decode_num_draft_tokens_total"},
                                               {"accepted_tokens", "vllm:spec_decode_num_accepted_tokens_total"},
                                               {"recomputed_tokens", "millrace:recomputed_tokens_total"}}};
constexpr const char* kReadBytes = "vllm:estimated_read_bytes_per_gpu_total";
constexpr const char* kBandwidthShare = "millrace:memory_bandwidth_utilization";
constexpr const char* kComputeShare = "millrace:compute_utilization";
constexpr const char* kStepSeconds = "millrace:step_phase_seconds_sum";

double increase(const MetricsReading& before, const MetricsReading& after, const char* name) {
  return std::max(0.0, after.sum(name) - before.sum(name));
}

// Of the tokens that the pages of all its models hold.
std::optional<double> kv_capacity(const MetricsReading& metrics) {
  const auto it = metrics.samples().find("vllm:cache_config_info");
  if (it == metrics.samples().end()) return std::nullopt;
  double tokens = 0.0;
  for (const auto& sample : it->second) {
    const auto block = sample.labels.find("block_size"), blocks = sample.labels.find("num_gpu_blocks");
    if (block == sample.labels.end() || blocks == sample.labels.end()) continue;
    tokens += std::strtod(block->second.c_str(), nullptr) * std::strtod(blocks->second.c_str(), nullptr);
  }
  return tokens > 0.0 ? std::optional(tokens) : std::nullopt;
}

}  // namespace

ServerWatch::ServerWatch(const Target& target, pid_t process) : getter_(target), process_(process) {
  readings_.push_back(read());
  processes_ = last_process_.pids;
  thread_ = std::thread([this] { run(); });
}

ServerWatch::~ServerWatch() { end(); }

ServerWatch::Reading ServerWatch::read() {
  Reading reading{.at = Clock::now()};
  if (metrics_) {
    const auto text = getter_.get("/metrics");
    auto parsed = text ? MetricsReading::parse(*text) : Result<MetricsReading>(text.error());
    if (parsed) reading.metrics = *std::move(parsed);
    if (!text && text.error().code == ErrorCode::kNotFound) metrics_ = false;  // it has none: not asked again
  }
  if (process_ > 0) {
    if (readings_.size() % kReadingsOfAFamily == 0) family_ = family_of(process_);
    reading.process = read_processes(family_);
    if (!reading.process.pids.empty()) last_process_ = reading.process;
    reading.energy_joules = package_energy_joules();
  }
  return reading;
}

void ServerWatch::run() {
  std::unique_lock lock(mutex_);
  while (!woken_.wait_for(lock, kInterval, [this] { return ending_; })) {
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
  if (process_ <= 0 || last_process_.pids.empty()) return;
  facts.resident_peak_bytes = static_cast<double>(last_process_.resident_peak_bytes);
  facts.cpu_seconds = last_process_.cpu_seconds - first.process.cpu_seconds;
  const double joules = last.energy_joules.value_or(0.0) - first.energy_joules.value_or(0.0);
  if (joules > 0.0) facts.energy_joules = joules;
}

ServerSamples ServerWatch::samples_from(std::size_t first, TimePoint started, double read_gb_s) const {
  ServerSamples samples;
  const Reading* before = &readings_[first];
  for (const Reading& now : std::span(readings_).subspan(first + 1)) {
    if (!now.metrics || !before->metrics) continue;
    const double seconds = milliseconds_between(before->at, now.at) * 1e-3;
    const auto rate = [&](const char* name) { return increase(*before->metrics, *now.metrics, name) / seconds; };
    samples.t.push_back(milliseconds_between(started, now.at) * 1e-3);
    samples.running.push_back(now.metrics->sum("vllm:num_requests_running"));
    samples.waiting.push_back(now.metrics->sum("vllm:num_requests_waiting"));
    samples.kv_used.push_back(now.metrics->sum("vllm:kv_cache_usage_perc"));
    samples.prefill_tok_s.push_back(rate("vllm:prompt_tokens_total"));
    samples.decode_tok_s.push_back(rate("vllm:generation_tokens_total"));
    samples.mbu_percent.push_back(read_gb_s > 0.0 ? 100.0 * rate(kReadBytes) * 1e-9 / read_gb_s
                                                  : 100.0 * now.metrics->sum(kBandwidthShare));
    samples.resident_bytes.push_back(static_cast<double>(now.process.resident_bytes));
    before = &now;
  }
  return samples;
}

std::pair<ServerFacts, ServerSamples> ServerWatch::finish(TimePoint started, const ServedModel& model,
                                                          double read_gb_s) {
  end();
  readings_.push_back(read());
  ServerFacts facts;
  if (model.weight_bytes > 0) facts.model_bytes = static_cast<double>(model.weight_bytes);
  if (model.kv_bytes_per_token > 0) facts.kv_bytes_per_token = static_cast<double>(model.kv_bytes_per_token);
  const std::size_t first_index = first_of(started);
  const Reading &first = readings_[first_index], &last = readings_.back();
  add_processes(first, last, facts);
  if (!first.metrics || !last.metrics) return {facts, {}};

  const MetricsReading &before = *first.metrics, &after = *last.metrics;
  for (const Counter& counter : kCounters) {
    if (after.has(counter.metric)) facts.counters.emplace_back(counter.name, increase(before, after, counter.metric));
  }
  facts.kv_capacity_tokens = kv_capacity(after);
  const double busy = increase(before, after, kStepSeconds);
  if (read_gb_s > 0.0 && busy > 0.0) {
    facts.read_gb_s = read_gb_s;
    facts.mbu_percent = 100.0 * increase(before, after, kReadBytes) * 1e-9 / busy / read_gb_s;
  } else if (busy > 0.0 && after.has(kBandwidthShare)) {
    facts.mbu_percent = 100.0 * after.sum(kBandwidthShare);
  }
  // The server knows with which arithmetic it multiplies; of the last ten seconds of its steps.
  if (busy > 0.0 && after.has(kComputeShare)) facts.mfu_percent = 100.0 * after.sum(kComputeShare);
  return {facts, samples_from(first_index, started, read_gb_s)};
}

}  // namespace millrace::loadtest
