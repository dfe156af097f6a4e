#include "loadtest/foreign_json.h"
#include "loadtest/recorded_request.h"

namespace millrace::loadtest::workloads {
namespace {

// Mooncake's traces (Qin et al. 2024, arXiv:2407.00079): JSON lines with timestamp in ms, input_length, output_length
// and hash_ids, a name for each block of 512 tokens of the prompt: equal names, equal tokens.
Result<std::vector<RecordedRequest>> read_mooncake(std::string_view path, std::string_view text) {
  std::vector<RecordedRequest> recorded;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto json = parse_foreign_json(line);
    const auto count = [&](const char* name) {
      return json.is_object() && json.contains(name) && json[name].is_number();
    };
    if (!count("timestamp") || !count("input_length") || !count("output_length")) {
      return make_error(ErrorCode::kBadFile, "dataset-path",
                        "{}: line {}: expected an object with the numbers timestamp, input_length and output_length",
                        path, number);
    }
    RecordedRequest& request = recorded.emplace_back();
    request.at_s = json["timestamp"].get<double>() / 1000.0;
    request.input_tokens = json["input_length"].get<std::int64_t>();
    request.output_tokens = json["output_length"].get<std::int64_t>();
    if (json.contains("hash_ids") && json["hash_ids"].is_array()) {
      for (const auto& id : json["hash_ids"]) {
        if (id.is_number_integer()) request.blocks.push_back(id.get<std::uint64_t>());
      }
    }
  }
  return recorded;
}

}  // namespace

WorkloadKind mooncake() {
  return {.name = "mooncake",
          .summary = "arrival times, lengths and shared prefixes of a Mooncake trace (JSON lines, --dataset-path)",
          .make = [](const WorkloadOptions& options) { return replay_file(options, "mooncake", read_mooncake); }};
}

}  // namespace millrace::loadtest::workloads
