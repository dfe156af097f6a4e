#include "server/observe/metric_aliases.h"

#include <algorithm>
#include <array>

#include "base/old_names.h"

namespace millrace::server::observe {
namespace {

constexpr std::array kAliases = {
    MetricAlias{"sglang", "sglang:num_running_reqs", "vllm:num_requests_running"},
    MetricAlias{"sglang", "sglang:num_queue_reqs", "vllm:num_requests_waiting"},
    MetricAlias{"sglang", "sglang:token_usage", "vllm:kv_cache_usage_perc"},
    MetricAlias{"sglang", "sglang:prompt_tokens_total", "vllm:prompt_tokens_total"},
    MetricAlias{"sglang", "sglang:generation_tokens_total", "vllm:generation_tokens_total"},
    MetricAlias{"sglang", "sglang:cached_tokens_total", "vllm:prompt_tokens_cached_total"},
    MetricAlias{"sglang", "sglang:time_to_first_token_seconds", "vllm:time_to_first_token_seconds"},
    MetricAlias{"sglang", "sglang:inter_token_latency_seconds", "vllm:inter_token_latency_seconds"},
    MetricAlias{"sglang", "sglang:e2e_request_latency_seconds", "vllm:e2e_request_latency_seconds"},
    MetricAlias{"sglang", "sglang:queue_time_seconds", "vllm:request_queue_time_seconds"},
    MetricAlias{"llamacpp", "llamacpp:prompt_tokens_total", "vllm:prompt_tokens_total"},
    MetricAlias{"llamacpp", "llamacpp:tokens_predicted_total", "vllm:generation_tokens_total"},
    MetricAlias{"llamacpp", "llamacpp:requests_processing", "vllm:num_requests_running"},
    MetricAlias{"llamacpp", "llamacpp:requests_deferred", "vllm:num_requests_waiting"},
};

// False where there is no family of that name.
bool append_copy(std::string_view name, std::string_view new_name, std::vector<prometheus::MetricFamily>& families) {
  const auto source = std::ranges::find(families, name, &prometheus::MetricFamily::name);
  if (source == families.end()) return false;
  prometheus::MetricFamily copy = *source;
  copy.name = new_name;
  families.push_back(std::move(copy));
  return true;
}

}  // namespace

std::span<const MetricAlias> all_aliases() noexcept { return kAliases; }

Result<std::vector<std::string>> parse_metrics_compat(std::string_view list) {
  std::vector<std::string> servers;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (name != "vllm" && std::ranges::find(kAliases, name, &MetricAlias::server) == kAliases.end()) {
      return make_error(ErrorCode::kInvalidArgument, "metrics-compat",
                        "unknown server \"{}\": expected vllm, sglang or llamacpp, separated by commas", name);
    }
    servers.emplace_back(name);
  }
  return servers;
}

void append_aliases(std::span<const std::string> servers, std::vector<prometheus::MetricFamily>& families) {
  for (const MetricAlias& alias : kAliases) {
    if (std::ranges::find(servers, alias.server) != servers.end()) append_copy(alias.source, alias.name, families);
  }
}

void append_old_names(std::vector<prometheus::MetricFamily>& families) {
  for (const OldName& one : all_old_names()) {
    if (one.kind != OldName::Kind::kMetric || !append_copy(one.now, one.old, families)) continue;
    families.back().help = "Old name of " + std::string(one.now) + ", exported by this version only";
  }
}

}  // namespace millrace::server::observe
