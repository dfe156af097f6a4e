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

using metrics::Slo;  // of several answers, each must keep it

// The metrics that one model labels. step() on its engine's thread, the rest on any.
class ModelMetrics {
 public:
  ModelMetrics(MetricFamilies& families, const std::string& name, std::span<const Slo> objectives);

  const std::string& name() const noexcept { return name_; }
  void set_model(ServedModel model);
  void step(const engine::StepReport& report);
  void request(const RequestRecord& record);
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

  MetricFamilies& families_;
  const std::string name_;
  const std::vector<Slo> slos_;

  std::atomic<bool> batches_ = false;  // requests wait for a batch to begin
  std::mutex mutex_;                   // of the two
  ServedModel model_;
  RecentWork recent_;
  std::vector<double> token_gaps_;  // scratch of step(): counts by bucket

  LabelValues priorities_{16};
  Gauge &running_, &waiting_, &waiting_for_place_, &waiting_for_batch_, &kv_usage_;
  Gauge &mbu_, &mfu_, &busy_, &oldest_wait_, &step_age_, &up_, &paused_, &contiguous_, &long_extents_;
  Counter &prompt_tokens_, &generation_tokens_, &cached_tokens_, &queries_, &hits_, &preemptions_, &drafts_,
      &draft_tokens_, &accepted_tokens_, &accepted_branch_tokens_, &corrupted_;
  Counter &operations_, &read_bytes_, &write_bytes_;
  Counter &evicted_, &swapped_, &rejected_, &failed_steps_, &prefill_tokens_, &decode_tokens_, &recomputed_;
  Histogram &ttft_, &itl_, &tpot_, &latency_, &queue_, &inference_, &prefill_, &decode_;
  Histogram &request_prompt_, &request_generation_, &request_longest_, &request_n_, &request_max_tokens_,
      &request_computed_, &request_preemptions_, &step_size_, &step_sequences_;
  std::array<Histogram*, 5> phases_;  // schedule, prepare, forward, commit, send
  std::array<Gauge*, 3> pages_;       // used, cached, free
  std::vector<Counter*> causes_;      // as cause_names()
};

}  // namespace millrace::server::observe
