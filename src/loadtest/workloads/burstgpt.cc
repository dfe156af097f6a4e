#include "loadtest/recorded_request.h"

namespace millrace::loadtest::workloads {
namespace {

Result<double> burstgpt_seconds_of(std::string_view path, std::string_view field, const std::string& text) {
  return trace_number(path, field, text);
}

// BurstGPT (Wang et al. 2024, arXiv:2401.17644).
Result<std::vector<RecordedRequest>> read_burstgpt(std::string_view path, std::string_view text) {
  return read_csv_trace({"Timestamp", "Request tokens", "Response tokens", burstgpt_seconds_of}, path, text);
}

}  // namespace

WorkloadKind burstgpt() {
  return {.name = "burstgpt",
          .summary = "arrival times and lengths of a BurstGPT trace (CSV, --dataset-path)",
          .make = [](const WorkloadOptions& options) { return replay_file(options, "burstgpt", read_burstgpt); }};
}

}  // namespace millrace::loadtest::workloads
