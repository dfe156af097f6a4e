#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::server::observe {

// Another server's name for one of our metrics.
struct MetricAlias {
  std::string_view server, name, source;  // "sglang", "sglang:num_queue_reqs", "vllm:num_requests_waiting"
};
std::span<const MetricAlias> all_aliases() noexcept;

// Parses a comma-separated list of servers: "vllm", "sglang,llamacpp". kInvalidArgument for an unknown server.
Result<std::vector<std::string>> parse_metrics_compat(std::string_view list);

// Appends copies of families under the names of these servers.
void append_aliases(std::span<const std::string> servers, std::vector<prometheus::MetricFamily>& families);
// Appends copies of families that were renamed, under their old names (base/old_names.h).
void append_old_names(std::vector<prometheus::MetricFamily>& families);

}  // namespace millrace::server::observe
