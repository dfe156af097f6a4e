#include "loadtest/watch/watched_metrics.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

namespace millrace::loadtest {
namespace {

using metrics::MetricsReading;

struct Watched {
  const char* metric;
  double WatchedMetrics::* member;
};
constexpr std::array<Watched, 15> kWatched = {
    {{"vllm:num_requests_running", &WatchedMetrics::running},
     {"vllm:num_requests_waiting", &WatchedMetrics::waiting},
     {"vllm:kv_cache_usage_perc", &WatchedMetrics::kv_used},
     {"millrace:memory_bandwidth_utilization", &WatchedMetrics::bandwidth_share},
     {"millrace:compute_utilization", &WatchedMetrics::compute_share},
     {"vllm:prompt_tokens_total", &WatchedMetrics::prompt_tokens},
     {"vllm:generation_tokens_total", &WatchedMetrics::generation_tokens},
     {"vllm:prefix_cache_hits_total", &WatchedMetrics::cached_tokens},
     {"millrace:recomputed_tokens_total", &WatchedMetrics::recomputed_tokens},
     {"vllm:num_preemptions_total", &WatchedMetrics::preemptions},
     {"vllm:spec_decode_num_drafts_total", &WatchedMetrics::drafts},
     {"vllm:spec_decode_num_draft_tokens_total", &WatchedMetrics::draft_tokens},
     {"vllm:spec_decode_num_accepted_tokens_total", &WatchedMetrics::accepted_tokens},
     {"vllm:estimated_read_bytes_per_gpu_total", &WatchedMetrics::read_bytes},
     {"millrace:step_phase_seconds_sum", &WatchedMetrics::step_seconds}}};

}  // namespace

WatchedMetrics watched_metrics(const MetricsReading& metrics) {
  WatchedMetrics kept;
  for (const Watched& watched : kWatched) {
    if (metrics.has(watched.metric)) kept.*watched.member = metrics.sum(watched.metric);
  }
  // A server that exceeds its limits says NaN; here that is what was not read.
  for (const auto& [name, share] : {std::pair{"millrace:memory_bandwidth_utilization", &kept.bandwidth_share},
                                    std::pair{"millrace:compute_utilization", &kept.compute_share}}) {
    if (metrics.has(name) && std::isnan(*share)) *share = std::numeric_limits<double>::infinity();
  }
  return kept;
}

std::optional<double> kv_capacity_tokens(const MetricsReading& metrics) {
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

}  // namespace millrace::loadtest
