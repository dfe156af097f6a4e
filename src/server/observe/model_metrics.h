#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/step_report.h"
#include "metrics/slo.h"
#include "server/observe/label_values.h"
#include "server/observe/metric_families.h"
#include "server/observe/recent_work.h"
#include "server/observe/request_record.h"
#include "server/observe/snapshot.h"

namespace millrace::server::observe {

using metrics::Slo;  // a request meets it if each of its answers does

// The metrics of one model, whose name is their label. step() is for the engine's thread of the model, and mirror() for
// one thread at a time; the other functions are for any thread. `families` must outlive it.
class ModelMetrics {
 public:
  ModelMetrics(MetricFamilies& families, const std::string& name, std::span<const Slo> objectives);

  const std::string& name() const noexcept { return name_; }
  // Sets what is known when the model is loaded; called before its first step, and again after a reload.
  void set_model(ServedModel model);
  void step(const engine::StepReport& report);
  // Counts a finished request, of which the engine has ended at least one answer.
  void request(const RequestRecord& record);
  // Sets gauges to the state of the engine at `now`.
  void mirror(const EngineSnapshot& snapshot, TimePoint now);

 private:
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  using Histogram = prometheus::Histogram;

  prometheus::Labels labels(std::initializer_list<std::pair<const std::string, std::string>> more = {}) const;
  Counter& counter(std::string_view name) { return families_.counter(name, labels()); }
  Gauge& gauge(std::string_view name) { return families_.gauge(name, labels()); }
  Histogram& histogram(std::string_view name) { return families_.histogram(name, labels()); }
  void set_pages(const kv::CacheUse& use);
  void set_waiting(std::int64_t waiting);
  void count_tokens(const engine::StepReport& report);
  void count_work(const engine::StepReport& report);
  void count_answer(const AnswerRecord& answer);
  void count_slos(const RequestRecord& record);
  void count_drafts(const RequestRecord& record);
  void count_ranks(std::span<const model::RankTime> ranks);
  void mirror_adapters(const AdapterSnapshot& now);

  MetricFamilies& families_;
  const std::string name_;
  const std::vector<Slo> slos_;

  std::atomic<bool> batches_ = false;  // ServedModel::batches
  std::mutex mutex_;                   // guards model_ and recent_
  ServedModel model_;
  RecentWork recent_;
  std::vector<double> token_gaps_;  // scratch of step(): counts by bucket

  LabelValues priorities_{16}, adapters_{256};
  model::AdapterFigures adapter_figures_;  // at the last mirror()
  prometheus::Labels adapter_labels_;      // of the state then
  Gauge* adapter_state_ = nullptr;
  struct RankCounters {
    Counter *step, *wait;
  };
  std::vector<RankCounters> ranks_;  // by rank
  Gauge& running_ = gauge("vllm:num_requests_running");
  Gauge& waiting_ = gauge("vllm:num_requests_waiting");
  Gauge& waiting_for_place_ = families_.gauge("vllm:num_requests_waiting_by_reason", labels({{"reason", "capacity"}}));
  Gauge& waiting_for_batch_ = families_.gauge("vllm:num_requests_waiting_by_reason", labels({{"reason", "deferred"}}));
  Gauge& kv_usage_ = gauge("vllm:kv_cache_usage_perc");
  Gauge& mbu_ = gauge("millrace:memory_bandwidth_utilization");
  Gauge& mfu_ = gauge("millrace:compute_utilization");
  Gauge& peak_read_ = gauge("millrace:peak_read_bytes_per_second");
  Gauge& peak_operations_ = gauge("millrace:peak_operations_per_second");
  Gauge& busy_ = gauge("millrace:busy_ratio");
  Gauge& oldest_wait_ = gauge("millrace:oldest_wait_seconds");
  Gauge& step_age_ = gauge("millrace:last_step_age_seconds");
  Gauge& up_ = gauge("millrace:engine_up");
  Gauge& paused_ = gauge("millrace:paused_streams");
  Gauge& contiguous_ = gauge("millrace:kv_contiguous_ratio");
  Gauge& long_extents_ = gauge("millrace:kv_long_extent_ratio");
  Counter& prompt_tokens_ = counter("vllm:prompt_tokens_total");
  Counter& generation_tokens_ = counter("vllm:generation_tokens_total");
  Counter& cached_tokens_ = counter("vllm:prompt_tokens_cached_total");
  Counter& queries_ = counter("vllm:prefix_cache_queries_total");
  Counter& hits_ = counter("vllm:prefix_cache_hits_total");
  Counter& preemptions_ = counter("vllm:num_preemptions_total");
  Counter& drafts_ = counter("vllm:spec_decode_num_drafts_total");
  Counter& draft_tokens_ = counter("vllm:spec_decode_num_draft_tokens_total");
  Counter& accepted_tokens_ = counter("vllm:spec_decode_num_accepted_tokens_total");
  Counter& accepted_branch_tokens_ = counter("millrace:spec_decode_accepted_branch_tokens_total");
  Counter& corrupted_ = counter("vllm:corrupted_requests_total");
  Counter& operations_ = counter("vllm:estimated_flops_per_gpu_total");
  Counter& read_bytes_ = counter("vllm:estimated_read_bytes_per_gpu_total");
  Counter& write_bytes_ = counter("vllm:estimated_write_bytes_per_gpu_total");
  Counter& expert_layers_ = counter("millrace:expert_layers_total");
  Counter& experts_touched_ = counter("millrace:experts_touched_total");
  Counter& expert_busiest_ = counter("millrace:expert_busiest_rows_total");
  Counter& expert_even_ = counter("millrace:expert_even_rows_total");
  Counter& expert_bytes_ = counter("millrace:expert_read_bytes_total");
  Gauge& experts_ = gauge("millrace:experts_per_layer");
  Gauge& imbalance_ = gauge("millrace:expert_imbalance");
  Counter& evicted_ = counter("millrace:kv_evicted_pages_total");
  Counter& adapter_loads_ = counter("millrace:adapter_loads_total");
  Counter& adapter_evictions_ = counter("millrace:adapter_evictions_total");
  Counter& adapter_hits_ = counter("millrace:adapter_hits_total");
  Counter& adapter_misses_ = counter("millrace:adapter_misses_total");
  Gauge& resident_adapters_ = gauge("millrace:adapters_resident");
  Counter& swapped_ = counter("millrace:swapped_total");
  Counter& rejected_ = counter("millrace:rejected_total");
  Counter& failed_steps_ = counter("millrace:failed_steps_total");
  Counter& weight_rounds_ = counter("millrace:weight_rounds_total");
  Counter& prefill_tokens_ = families_.counter("millrace:step_tokens_total", labels({{"kind", "prefill"}}));
  Counter& decode_tokens_ = families_.counter("millrace:step_tokens_total", labels({{"kind", "decode"}}));
  Counter& recomputed_ = counter("millrace:recomputed_tokens_total");
  Histogram& ttft_ = histogram("vllm:time_to_first_token_seconds");
  Histogram& itl_ = histogram("vllm:inter_token_latency_seconds");
  Histogram& tpot_ = histogram("vllm:request_time_per_output_token_seconds");
  Histogram& latency_ = histogram("vllm:e2e_request_latency_seconds");
  Histogram& queue_ = histogram("vllm:request_queue_time_seconds");
  Histogram& inference_ = histogram("vllm:request_inference_time_seconds");
  Histogram& prefill_ = histogram("vllm:request_prefill_time_seconds");
  Histogram& decode_ = histogram("vllm:request_decode_time_seconds");
  Histogram& request_prompt_ = histogram("vllm:request_prompt_tokens");
  Histogram& request_generation_ = histogram("vllm:request_generation_tokens");
  Histogram& request_longest_ = histogram("vllm:request_max_num_generation_tokens");
  Histogram& request_n_ = histogram("vllm:request_params_n");
  Histogram& request_max_tokens_ = histogram("vllm:request_params_max_tokens");
  Histogram& request_computed_ = histogram("vllm:request_prefill_kv_computed_tokens");
  Histogram& request_preemptions_ = histogram("vllm:request_num_preemptions");
  Histogram& step_size_ = histogram("vllm:iteration_tokens_total");
  Histogram& step_sequences_ = histogram("millrace:step_sequences");
  std::array<Histogram*, 5> phases_;  // schedule, prepare, forward, commit, send
  std::array<Gauge*, 3> pages_;       // used, cached, free
  std::vector<Counter*> causes_;      // [cause_names()]
};

}  // namespace millrace::server::observe
