#include "loadtest/recorded_request.h"

namespace millrace::loadtest::workloads {
namespace {

// BurstGPT (Wang et al. 2024, arXiv:2401.17644): CSV with Timestamp in seconds; a response of 0 tokens is a failure.
Result<std::vector<RecordedRequest>> read(std::string_view path, std::string_view text) {
  auto rows = read_columns(path, text, {"Timestamp", "Request tokens", "Response tokens"});
  if (!rows) return rows.error();
  std::vector<RecordedRequest> recorded;
  for (const auto& row : *rows) {
    const auto at = trace_number(path, "Timestamp", row[0]);
    const auto input = trace_number(path, "Request tokens", row[1]);
    const auto output = trace_number(path, "Response tokens", row[2]);
    for (const auto* number : {&at, &input, &output}) {
      if (!*number) return number->error();
    }
    if (*input < 1.0 || *output < 1.0) continue;
    recorded.push_back({.at_s = *at,
                        .input_tokens = static_cast<std::int64_t>(*input),
                        .output_tokens = static_cast<std::int64_t>(*output),
                        .blocks = {}});
  }
  return recorded;
}

}  // namespace

WorkloadKind burstgpt() {
  return {.name = "burstgpt",
          .summary = "times and lengths of a BurstGPT trace (CSV, --dataset-path)",
          .make = [](const WorkloadOptions& options) { return replay_file(options, "burstgpt", read); }};
}

}  // namespace millrace::loadtest::workloads
