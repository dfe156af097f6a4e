#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::server::observe {

// The same metric under the name that another server gives it.
struct MetricAlias {
  std::string_view server, name, source;  // "sglang", "sglang:num_queue_reqs", "vllm:num_requests_waiting"
};
std::span<const MetricAlias> all_aliases() noexcept;

// "vllm", "sglang,llamacpp" ...: the servers named. kInvalidArgument for another.
Result<std::vector<std::string>> parse_metrics_compat(std::string_view list);

// Appends copies of the families that those servers call otherwise.
void append_aliases(std::span<const std::string> servers, std::vector<prometheus::MetricFamily>& families);
// Appends copies of the families whose name changed with this version, under their old names (base/old_names.h).
void append_old_names(std::vector<prometheus::MetricFamily>& families);

}  // namespace millrace::server::observe
