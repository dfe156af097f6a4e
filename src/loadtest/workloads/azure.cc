#include <ctime>

#include "loadtest/recorded_request.h"

namespace millrace::loadtest::workloads {
namespace {

// "2023-11-16 18:15:46.6805900" -> seconds of Unix time.
Result<double> azure_seconds_of(std::string_view path, std::string_view field, const std::string& text) {
  std::tm time{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &time);
  if (rest == nullptr) {
    return make_error(ErrorCode::kBadFile, "dataset-path", "{}: {} '{}' is no YYYY-MM-DD HH:MM:SS", path, field, text);
  }
  std::string fraction = "0";
  if (*rest == '.') {
    const char* const begin = rest;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest) {
    }
    fraction.append(begin, rest);
  }
  const auto part = trace_number(path, field, fraction);
  if (!part) return part.error();
  return static_cast<double>(::timegm(&time)) + *part;
}

// Azure's traces of LLM inference (Patel et al. 2024, arXiv:2311.18677).
Result<std::vector<RecordedRequest>> read_azure(std::string_view path, std::string_view text) {
  return read_csv_trace({"TIMESTAMP", "ContextTokens", "GeneratedTokens", azure_seconds_of}, path, text);
}

}  // namespace

WorkloadKind azure() {
  return {.name = "azure",
          .summary = "arrival times and lengths of an Azure LLM inference trace (CSV, --dataset-path)",
          .make = [](const WorkloadOptions& options) { return replay_file(options, "azure", read_azure); }};
}

}  // namespace millrace::loadtest::workloads
