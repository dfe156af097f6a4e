#include "loadtest/foreign_json.h"
#include "loadtest/prompt_source.h"
#include "loadtest/recorded_request.h"

namespace millrace::loadtest::workloads {
namespace {

// Prompts of one's own: JSON lines with "prompt" and, if one wishes, "output_tokens".
class Custom final : public Workload {
 public:
  explicit Custom(std::vector<Turn> turns) : turns_(std::move(turns)) {}
  Session session(std::uint64_t index) const override { return {.turns = {turns_[index % turns_.size()]}}; }

 private:
  std::vector<Turn> turns_;
};

MadeWorkload make(const WorkloadOptions& options) {
  const auto text = read_dataset(options, "custom");
  if (!text) return text.error();
  std::vector<Turn> turns;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto json = parse_foreign_json(line);
    if (!json.is_object() || !json.contains("prompt") || !json["prompt"].is_string()) {
      return make_error(ErrorCode::kBadFile, "dataset-path", "{}: line {}: expected an object with a text 'prompt'",
                        options.path, number);
    }
    Turn& turn = turns.emplace_back();
    turn.text = json["prompt"].get<std::string>();
    turn.output_tokens = sample(options.output, options.seed, turns.size() - 1, kOutputLength);
    if (!json.contains("output_tokens")) continue;
    if (!json["output_tokens"].is_number_integer() || json["output_tokens"].get<std::int64_t>() < 1) {
      return make_error(ErrorCode::kBadFile, "dataset-path", "{}: line {}: output_tokens is no number from 1",
                        options.path, number);
    }
    turn.output_tokens = json["output_tokens"].get<std::int64_t>();
  }
  if (turns.empty()) {
    return make_error(ErrorCode::kBadFile, "dataset-path", "{}: no prompt is in it", options.path);
  }
  return MadeWorkload(std::make_unique<Custom>(std::move(turns)));
}

}  // namespace

WorkloadKind custom() {
  return {.name = "custom",
          .summary = "prompts of your own from JSON lines of {\"prompt\", \"output_tokens\"} (--dataset-path)",
          .meaningful = true,
          .make = make};
}

}  // namespace millrace::loadtest::workloads
