#include "server/observe/dashboard.h"

#include <algorithm>
#include <set>

namespace millrace::server::observe {
namespace {

// What changed of one model.
class Change {
 public:
  Change(const metrics::MetricsReading& before, const metrics::MetricsReading& after, std::string model)
      : before_(before), after_(after), labels_{{"model_name", std::move(model)}} {}

  double now(std::string_view name, metrics::MetricsReading::Labels more = {}) const {
    more.insert(labels_.begin(), labels_.end());
    return after_.sum(name, more);
  }
  double of(std::string_view name, metrics::MetricsReading::Labels more = {}) const {
    more.insert(labels_.begin(), labels_.end());
    return std::max(0.0, after_.sum(name, more) - before_.sum(name, more));  // a server that began anew counts from 0
  }
  double quantile(double q, std::string_view histogram) const {
    return metrics::histogram_quantile(q, before_.buckets(histogram, labels_), after_.buckets(histogram, labels_));
  }

 private:
  const metrics::MetricsReading& before_;
  const metrics::MetricsReading& after_;
  const metrics::MetricsReading::Labels labels_;
};

ModelView view_of(const Change& change, double seconds, bool first) {
  ModelView view{.seconds = first ? 0.0 : seconds};
  const auto rate = [&](double n) { return seconds > 0.0 ? n / seconds : 0.0; };
  view.prompt_tokens_s = rate(change.of("vllm:prompt_tokens_total"));
  view.cached_tokens_s = rate(change.of("vllm:prompt_tokens_cached_total"));
  view.output_tokens_s = rate(change.of("vllm:generation_tokens_total"));
  view.requests_s = rate(change.of("vllm:request_success_total"));
  view.running = change.now("vllm:num_requests_running");
  view.waiting = change.now("vllm:num_requests_waiting");
  view.paused = change.now("millrace:paused_streams");
  view.kv_share = change.now("vllm:kv_cache_usage_perc");
  view.ttft_p50 = change.quantile(0.5, "vllm:time_to_first_token_seconds");
  view.ttft_p95 = change.quantile(0.95, "vllm:time_to_first_token_seconds");
  view.itl_p50 = change.quantile(0.5, "vllm:inter_token_latency_seconds");
  view.itl_p95 = change.quantile(0.95, "vllm:inter_token_latency_seconds");
  view.mbu = change.now("millrace:memory_bandwidth_utilization");
  view.mfu = change.now("millrace:compute_utilization");
  view.busy = change.now("millrace:busy_ratio");
  constexpr std::string_view kPhases = "millrace:step_phase_seconds_sum";
  if (const double all = change.of(kPhases); all > 0.0) {
    view.schedule_share = change.of(kPhases, {{"phase", "schedule"}}) / all;
    view.prepare_share = change.of(kPhases, {{"phase", "prepare"}}) / all;
    view.forward_share = change.of(kPhases, {{"phase", "forward"}}) / all;
    view.commit_share = change.of(kPhases, {{"phase", "commit"}}) / all;
  }
  if (const double steps = change.of("millrace:step_sequences_count"); steps > 0.0) {
    view.step_sequences = change.of("millrace:step_sequences_sum") / steps;
  }
  constexpr std::string_view kRanks = "millrace:rank_step_seconds_total";
  for (std::size_t rank = 0;; ++rank) {
    const metrics::MetricsReading::Labels of_rank = {{"rank", std::to_string(rank)}};
    if (change.now(kRanks, of_rank) <= 0.0) break;
    const double all = change.of(kRanks, of_rank), waited = change.of("millrace:rank_wait_seconds_total", of_rank);
    view.rank_waits.push_back(all > 0.0 ? waited / all : 0.0);
  }
  view.preemptions = change.of("vllm:num_preemptions_total");
  view.failed = change.of("vllm:request_success_total", {{"finished_reason", "error"}});
  view.last_step_age_seconds = change.now("millrace:last_step_age_seconds");
  return view;
}

}  // namespace

std::vector<ModelView> views_of(const metrics::MetricsReading& before, const metrics::MetricsReading& after,
                                double seconds) {
  std::set<std::string> models;
  const auto it = after.samples().find("vllm:num_requests_running");
  if (it == after.samples().end()) return {};
  for (const metrics::Sample& sample : it->second) {
    if (const auto label = sample.labels.find("model_name"); label != sample.labels.end()) models.insert(label->second);
  }
  const bool first = before.samples().empty();
  if (first) {
    const double start = after.sum("process_start_time_seconds"), now = after.taken_unix_seconds;
    seconds = start > 0.0 && now > start ? now - start : 0.0;
  }
  std::vector<ModelView> views;
  for (const std::string& model : models) {
    views.push_back(view_of(Change(before, after, model), seconds, first));
    views.back().model = model;
    views.back().up =
        !after.has("millrace:engine_up") || after.sum("millrace:engine_up", {{"model_name", model}}) > 0.0;
  }
  return views;
}

}  // namespace millrace::server::observe
