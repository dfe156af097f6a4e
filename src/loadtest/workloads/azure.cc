#include <ctime>

#include "loadtest/recorded_request.h"

namespace millrace::loadtest::workloads {
namespace {

// "2023-11-16 18:15:46.6805900" -> seconds of Unix time.
Result<double> seconds_of(std::string_view path, const std::string& text) {
  std::tm time{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &time);
  if (rest == nullptr) {
    return make_error(ErrorCode::kBadFile, "dataset-path", "{}: TIMESTAMP '{}' is no YYYY-MM-DD HH:MM:SS", path, text);
  }
  std::string fraction = "0";
  if (*rest == '.') {
    const char* const begin = rest;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest) {
    }
    fraction.append(begin, rest);
  }
  const auto part = trace_number(path, "TIMESTAMP", fraction);
  if (!part) return part.error();
  return static_cast<double>(::timegm(&time)) + *part;
}

// Azure's traces of LLM inference (Patel et al. 2024, arXiv:2311.18677): TIMESTAMP,ContextTokens,GeneratedTokens.
Result<std::vector<RecordedRequest>> read(std::string_view path, std::string_view text) {
  auto rows = read_columns(path, text, {"TIMESTAMP", "ContextTokens", "GeneratedTokens"});
  if (!rows) return rows.error();
  std::vector<RecordedRequest> recorded;
  for (const auto& row : *rows) {
    const auto at = seconds_of(path, row[0]);
    const auto input = trace_number(path, "ContextTokens", row[1]);
    const auto output = trace_number(path, "GeneratedTokens", row[2]);
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

WorkloadKind azure() {
  return {.name = "azure",
          .summary = "times and lengths of an Azure LLM inference trace (CSV, --dataset-path)",
          .make = [](const WorkloadOptions& options) { return replay_file(options, "azure", read); }};
}

}  // namespace millrace::loadtest::workloads
