#include "server/observe/model_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "server/observe/explain.h"

namespace millrace::server::observe {
namespace {

using engine::FinishReason;

std::span<const double> buckets_of(std::string_view name) {
  return std::ranges::find(all_metrics(), name, &MetricInfo::name)->buckets;
}

// As vLLM calls them.
std::string_view finished_reason(FinishReason reason) {
  return reason == FinishReason::kCancelled ? "abort" : engine::to_string(reason);
}

std::string_view phase_of(const engine::RequestStats& stats) {
  return !happened(stats.admitted) ? "queue" : !happened(stats.first_token) ? "prefill" : "decode";
}

// "ttft<=500ms,tpot<=50ms": an objective as its label.
std::string label_of(const Slo& objective) {
  std::string label;
  const auto add = [&](std::string_view name, double ms) {
    if (ms > 0.0) label += fmt::format("{}{}<={:g}ms", label.empty() ? "" : ",", name, ms);
  };
  add("ttft", objective.ttft_ms);
  add("tpot", objective.tpot_ms);
  add("e2el", objective.latency_ms);
  return label;
}

// 0: no work, or no peak was measured; NaN: the peak is too low to be one.
double share_or_nan(double work, double seconds, double peak) {
  const auto rate = engine::giga_per_second(work, seconds);
  if (!rate || !(peak > 0.0)) return 0.0;
  return engine::share_of_peak(rate, peak).value_or(std::numeric_limits<double>::quiet_NaN());
}

double seconds_between(TimePoint start, TimePoint end) { return milliseconds_between(start, end) / 1e3; }

}  // namespace

ModelMetrics::ModelMetrics(MetricFamilies& families, const std::string& name, std::span<const Slo> objectives)
    : families_(families),
      name_(name),
      slos_(objectives.begin(), objectives.end()),
      token_gaps_(buckets_of("vllm:inter_token_latency_seconds").size() + 1) {
  constexpr std::array kPhases = {"schedule", "prepare", "forward", "commit", "send"};
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    phases_[i] = &families.histogram("millrace:step_phase_seconds", labels({{"phase", kPhases[i]}}));
  }
  constexpr std::array kStates = {"used", "cached", "free"};
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    pages_[i] = &families.gauge("millrace:kv_pages", labels({{"state", kStates[i]}}));
  }
  for (const std::string_view cause : cause_names()) {
    causes_.push_back(
        &families.counter("millrace:request_time_seconds_total", labels({{"cause", std::string(cause)}})));
  }
  for (const auto reason : {FinishReason::kStop, FinishReason::kLength, FinishReason::kCancelled,
                            FinishReason::kTimeout, FinishReason::kError}) {
    families.counter("vllm:request_success_total", labels({{"finished_reason", std::string(finished_reason(reason))}}));
  }
  mirror_adapters({});
  for (const char* phase : {"queue", "prefill", "decode"}) {
    families.counter("millrace:aborts_total", labels({{"phase", phase}}));
  }
  for (const Slo& objective : slos_) {
    families.counter("millrace:slo_requests_total", labels({{"slo", label_of(objective)}}));
    families.counter("millrace:slo_attained_total", labels({{"slo", label_of(objective)}}));
  }
}

prometheus::Labels ModelMetrics::labels(std::initializer_list<std::pair<const std::string, std::string>> more) const {
  prometheus::Labels all{{"model_name", name_}, {"engine", "0"}};
  all.insert(more.begin(), more.end());
  return all;
}

void ModelMetrics::set_model(ServedModel model) {
  families_
      .gauge("vllm:cache_config_info", labels({{"block_size", std::to_string(model.block_tokens)},
                                               {"num_gpu_blocks", std::to_string(model.pages)}}))
      .Set(1.0);
  for (const auto& [kind, bytes] :
       {std::pair{"weights", model.weight_bytes}, {"kv_cache", model.kv_bytes}, {"drafting", model.drafting_bytes}}) {
    families_.gauge("millrace:memory_bytes", labels({{"kind", kind}})).Set(static_cast<double>(bytes));
  }
  pages_[2]->Set(static_cast<double>(model.pages));
  up_.Set(1.0);
  batches_ = model.batches;
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
}

void ModelMetrics::step(const engine::StepReport& report) {
  const std::array phases = {report.schedule_ms, report.prepare_ms, report.forward_ms, report.commit_ms,
                             report.send_ms};
  for (std::size_t i = 0; i < phases.size(); ++i) phases_[i]->Observe(phases[i] / 1e3);
  step_size_.Observe(static_cast<double>(report.prefill_tokens + report.decode_tokens));
  step_sequences_.Observe(static_cast<double>(report.sequences));
  prefill_tokens_.Increment(static_cast<double>(report.prefill_tokens));
  decode_tokens_.Increment(static_cast<double>(report.decode_tokens));
  cached_tokens_.Increment(static_cast<double>(report.cached_tokens));
  hits_.Increment(static_cast<double>(report.cached_tokens));
  queries_.Increment(static_cast<double>(report.queried_tokens));
  preemptions_.Increment(static_cast<double>(report.preempted));
  drafts_.Increment(static_cast<double>(report.drafts));
  draft_tokens_.Increment(static_cast<double>(report.drafted_tokens));
  accepted_tokens_.Increment(static_cast<double>(report.accepted_tokens));
  accepted_branch_tokens_.Increment(static_cast<double>(report.accepted_branch_tokens));
  swapped_.Increment(static_cast<double>(report.swapped));
  corrupted_.Increment(static_cast<double>(report.numerical_errors));
  rejected_.Increment(static_cast<double>(report.rejected));
  evicted_.Increment(static_cast<double>(report.evicted_pages));
  weight_rounds_.Increment(static_cast<double>(report.weight_rounds));
  if (report.failed) failed_steps_.Increment();
  running_.Set(static_cast<double>(report.running));
  set_waiting(report.waiting);
  paused_.Set(static_cast<double>(report.paused));
  oldest_wait_.Set(report.oldest_wait_ms / 1e3);
  set_pages(report.pages);
  count_tokens(report);
  count_work(report);
  count_ranks(report.ranks);
}

void ModelMetrics::count_ranks(std::span<const model::RankTime> ranks) {
  while (ranks_.size() < ranks.size()) {
    const prometheus::Labels of_rank = labels({{"rank", std::to_string(ranks_.size())}});
    ranks_.push_back({.step = &families_.counter("millrace:rank_step_seconds_total", of_rank),
                      .wait = &families_.counter("millrace:rank_wait_seconds_total", of_rank)});
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks_[rank].step->Increment(ranks[rank].ms / 1e3);
    ranks_[rank].wait->Increment(ranks[rank].waited_ms / 1e3);
  }
}

void ModelMetrics::set_waiting(std::int64_t waiting) {
  waiting_.Set(static_cast<double>(waiting));
  waiting_for_place_.Set(batches_ ? 0.0 : static_cast<double>(waiting));
  waiting_for_batch_.Set(batches_ ? static_cast<double>(waiting) : 0.0);
}

void ModelMetrics::set_pages(const kv::CacheUse& use) {
  const std::array pages = {use.used, use.cached, use.free};
  for (std::size_t i = 0; i < pages.size(); ++i) pages_[i]->Set(static_cast<double>(pages[i]));
  kv_usage_.Set(use.used_share());
}

void ModelMetrics::count_tokens(const engine::StepReport& report) {
  static const std::span<const double> kBounds = buckets_of("vllm:inter_token_latency_seconds");
  std::ranges::fill(token_gaps_, 0.0);
  double gaps = 0.0;
  for (const engine::TokenReport& token : report.tokens) {
    const double seconds = token.since_ms / 1e3;
    if (token.first) {
      ttft_.Observe(seconds);
      continue;
    }
    ++token_gaps_[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
    gaps += seconds;
  }
  if (gaps > 0.0) itl_.ObserveMultiple(token_gaps_, gaps);
  prompt_tokens_.Increment(static_cast<double>(report.prompt_tokens));
  generation_tokens_.Increment(static_cast<double>(report.tokens.size()));
}

void ModelMetrics::count_work(const engine::StepReport& report) {
  const std::lock_guard lock(mutex_);
  const engine::StepWorkload& work = report.workload;
  operations_.Increment(work.operations);
  read_bytes_.Increment(work.read_bytes);
  write_bytes_.Increment(work.write_bytes);
  const model::ExpertUse& experts = report.experts;
  if (experts.layers > 0) {
    expert_layers_.Increment(static_cast<double>(experts.layers));
    experts_touched_.Increment(static_cast<double>(experts.touched));
    expert_busiest_.Increment(static_cast<double>(experts.busiest));
    expert_even_.Increment(static_cast<double>(experts.even));
    expert_bytes_.Increment(experts.bytes);
    experts_.Set(experts.experts_per_layer());
    imbalance_.Set(experts.imbalance());
  }
  recent_.add(
      report.end,
      {.seconds = seconds_between(report.start, report.end), .bytes = work.read_bytes, .operations = work.operations});
}

void ModelMetrics::request(const RequestRecord& record) {
  request_n_.Observe(record.n);
  request_max_tokens_.Observe(static_cast<double>(record.max_tokens));
  request_prompt_.Observe(static_cast<double>(record.prompt_tokens()));
  request_computed_.Observe(static_cast<double>(record.prompt_tokens() - record.cached_tokens()));
  const std::string priority = priorities_.admit(std::to_string(record.priority));
  Histogram& queue = families_.histogram("millrace:queue_time_by_priority_seconds", labels({{"priority", priority}}));
  std::int64_t longest = 0;
  for (const AnswerRecord& answer : record.answers) {
    count_answer(answer);
    queue.Observe(answer.spent.queue_ms / 1e3);
    longest = std::max(longest, answer.stats.output_tokens);
  }
  request_longest_.Observe(static_cast<double>(longest));
  count_slos(record);
  count_drafts(record);
}

void ModelMetrics::count_answer(const AnswerRecord& answer) {
  const engine::RequestStats& stats = answer.stats;
  families_
      .counter("vllm:request_success_total", labels({{"finished_reason", std::string(finished_reason(answer.finish))}}))
      .Increment();
  if (answer.finish == FinishReason::kCancelled) {
    families_.counter("millrace:aborts_total", labels({{"phase", std::string(phase_of(stats))}})).Increment();
  }
  latency_.Observe(answer.spent.total_ms() / 1e3);
  queue_.Observe(answer.spent.queue_ms / 1e3);
  request_generation_.Observe(static_cast<double>(stats.output_tokens));
  request_preemptions_.Observe(static_cast<double>(stats.preemptions));
  recomputed_.Increment(static_cast<double>(answer.spent.recomputed_tokens));
  const auto parts = milliseconds_by_cause(answer.spent);
  for (std::size_t i = 0; i < parts.size(); ++i) causes_[i]->Increment(std::max(0.0, parts[i] / 1e3));
  if (!happened(stats.first_token)) return;
  prefill_.Observe(seconds_between(stats.admitted, stats.first_token));
  decode_.Observe(seconds_between(stats.first_token, stats.last_token));
  inference_.Observe(seconds_between(stats.admitted, stats.last_token));
  if (stats.output_tokens > 1) tpot_.Observe(stats.tpot_ms() / 1e3);
}

// A client that leaves says nothing of the server; an answer that failed or came too late is a bad one.
void ModelMetrics::count_slos(const RequestRecord& record) {
  const auto left = [](const AnswerRecord& answer) { return answer.finish == FinishReason::kCancelled; };
  if (record.answers.empty() || std::ranges::any_of(record.answers, left)) return;
  for (const Slo& objective : slos_) {
    const auto good = [&](const AnswerRecord& answer) {
      const bool whole = answer.finish == FinishReason::kStop || answer.finish == FinishReason::kLength;
      return whole && objective.met(answer.stats.ttft_ms(), answer.stats.tpot_ms(), answer.spent.total_ms());
    };
    const auto of_it = labels({{"slo", label_of(objective)}});
    families_.counter("millrace:slo_requests_total", of_it).Increment();
    if (std::ranges::all_of(record.answers, good)) families_.counter("millrace:slo_attained_total", of_it).Increment();
  }
}

void ModelMetrics::count_drafts(const RequestRecord& record) {
  if (record.adapter.empty()) return;
  const auto of_it = labels({{"adapter", adapters_.admit(record.adapter)}});
  Counter& drafted = families_.counter("millrace:adapter_draft_tokens_total", of_it);
  Counter& accepted = families_.counter("millrace:adapter_accepted_tokens_total", of_it);
  for (const AnswerRecord& answer : record.answers) {
    drafted.Increment(static_cast<double>(answer.stats.drafted_tokens));
    accepted.Increment(static_cast<double>(answer.stats.accepted_tokens));
  }
}

void ModelMetrics::mirror_adapters(const AdapterSnapshot& now) {
  const auto follow = [](Counter& counter, std::int64_t total, std::int64_t before) {
    counter.Increment(static_cast<double>(total >= before ? total - before : total));  // a loaded model counts from 0
  };
  const model::AdapterFigures& figures = now.figures;
  follow(adapter_loads_, figures.loads, adapter_figures_.loads);
  follow(adapter_evictions_, figures.evictions, adapter_figures_.evictions);
  follow(adapter_hits_, figures.hits, adapter_figures_.hits);
  follow(adapter_misses_, figures.misses, adapter_figures_.misses);
  adapter_figures_ = figures;
  resident_adapters_.Set(static_cast<double>(figures.resident));
  families_.gauge("millrace:memory_bytes", labels({{"kind", "adapters"}})).Set(static_cast<double>(figures.bytes));
  constexpr const char* kState = "vllm:lora_requests_info";
  auto state = labels({{"max_lora", std::to_string(figures.limit)},
                       {"running_lora_adapters", now.running},
                       {"waiting_lora_adapters", now.waited_for}});
  if (adapter_state_ == nullptr || state != adapter_labels_) {
    if (adapter_state_ != nullptr) families_.remove(kState, *adapter_state_);
    adapter_labels_ = std::move(state);
    adapter_state_ = &families_.gauge(kState, adapter_labels_);
  }
  const bool any = !now.running.empty() || !now.waited_for.empty();
  any ? adapter_state_->SetToCurrentTime() : adapter_state_->Set(0.0);
}

void ModelMetrics::mirror(const EngineSnapshot& snapshot, TimePoint now) {
  running_.Set(static_cast<double>(snapshot.running));
  set_waiting(snapshot.waiting);
  mirror_adapters(snapshot.adapters);
  paused_.Set(static_cast<double>(snapshot.paused));
  const auto ratio = [&](std::int64_t tokens) {
    const std::int64_t all = snapshot.kv_extents.tokens;
    return all == 0 ? 1.0 : static_cast<double>(tokens) / static_cast<double>(all);
  };
  if (snapshot.pages) set_pages(*snapshot.pages);  // what ended since the last step is in no report
  contiguous_.Set(ratio(snapshot.kv_extents.contiguous_tokens));
  long_extents_.Set(ratio(snapshot.kv_extents.long_extent_tokens));
  if (snapshot.waiting == 0) oldest_wait_.Set(0.0);
  step_age_.Set(snapshot.last_step_age_seconds);
  up_.Set(snapshot.alive ? 1.0 : 0.0);
  const std::lock_guard lock(mutex_);
  const RecentWork::Sum work = recent_.sum(now);
  const engine::MachinePeaks peaks = model_.peaks == nullptr ? engine::MachinePeaks{} : model_.peaks->now();
  peak_read_.Set(peaks.read_gb_s * 1e9);
  peak_operations_.Set(peaks.gop_s * 1e9);
  mbu_.Set(share_or_nan(work.bytes, work.seconds, peaks.read_gb_s));
  mfu_.Set(share_or_nan(work.operations, work.seconds, peaks.gop_s));
  busy_.Set(std::min(1.0, work.seconds / static_cast<double>(RecentWork::kSeconds)));
}

}  // namespace millrace::server::observe
