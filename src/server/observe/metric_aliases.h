#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::server::observe {

// The name that another server gives to a metric of this one, called `source`.
struct MetricAlias {
  std::string_view server, name, source;  // "sglang", "sglang:num_queue_reqs", "vllm:num_requests_waiting"
};
std::span<const MetricAlias> all_aliases() noexcept;

// The servers in a list such as "sglang,llamacpp"; "vllm" adds no aliases, as it names the metrics already.
// kInvalidArgument for metrics-compat where a server is unknown.
Result<std::vector<std::string>> parse_metrics_compat(std::string_view list);

// Appends copies of the families for which all_aliases() has a name of one of `servers`.
void append_aliases(std::span<const std::string> servers, std::vector<prometheus::MetricFamily>& families);
// Appends copies of the families that have an old name in base/old_names.h, under that name.
void append_old_names(std::vector<prometheus::MetricFamily>& families);

}  // namespace millrace::server::observe
