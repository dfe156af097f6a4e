#include <algorithm>
#include <cmath>

#include "base/counter_rng.h"
#include "loadtest/foreign_json.h"
#include "loadtest/prompt_source.h"
#include "loadtest/recorded_request.h"

namespace millrace::loadtest::workloads {
namespace {

// Lengths as the conversations of ShareGPT have them, without their words: log-normal with the means that vLLM's paper
// gives (Kwon et al. 2023, arXiv:2309.06180, section 6.1: 161 tokens of prompt, 338 of answer) and the long tail of
// chats.
class ShapedLengths final : public Workload {
 public:
  explicit ShapedLengths(const WorkloadOptions& options) : options_(options), prompts_(options) {}

  Session session(std::uint64_t index) const override {
    Session session;
    Turn& turn = session.turns.emplace_back();
    prompts_.append(turn, length(kMeanInput, index, kInputLength), stream_of(Purpose::kOwn, index));
    turn.output_tokens = length(kMeanOutput, index, kOutputLength);
    return session;
  }

 private:
  static constexpr double kMeanInput = 161.31, kMeanOutput = 337.99, kDeviation = 1.0;  // of the logarithm
  static constexpr std::int64_t kMin = 4, kMax = 2048;  // vLLM leaves out what is shorter or longer

  std::int64_t length(double mean, std::uint64_t index, std::uint64_t stream) const {
    const double u = std::max(rng::uniform(options_.seed, 2 * index, stream), 1e-12);
    const double angle = 2.0 * 3.14159265358979323846 * rng::uniform(options_.seed, 2 * index + 1, stream);
    const double normal = std::sqrt(-2.0 * std::log(u)) * std::cos(angle);
    const double mu = std::log(mean) - 0.5 * kDeviation * kDeviation;
    return std::clamp(static_cast<std::int64_t>(std::exp(mu + kDeviation * normal)), kMin, kMax);
  }
  WorkloadOptions options_;
  PromptSource prompts_;
};

// First question and answer of each conversation of a ShareGPT file. The answer's length, in words and marks, is how
// long the new answer may get.
class Conversations final : public Workload {
 public:
  struct Pair {
    std::string question;
    std::int64_t answer_tokens = 0;
  };
  Conversations(std::uint64_t seed, std::vector<Pair> pairs) : seed_(seed), pairs_(std::move(pairs)) {}

  Session session(std::uint64_t index) const override {
    const double share = rng::uniform(seed_, index, kTextChoice);
    const Pair& pair = pairs_[static_cast<std::size_t>(share * static_cast<double>(pairs_.size())) % pairs_.size()];
    Session session;
    Turn& turn = session.turns.emplace_back();
    turn.text = pair.question;
    turn.output_tokens = pair.answer_tokens;
    return session;
  }

 private:
  std::uint64_t seed_;
  std::vector<Pair> pairs_;
};

Result<std::vector<Conversations::Pair>> read_sharegpt(const std::string& path, const std::string& text) {
  const auto json = parse_foreign_json(text);
  if (!json.is_array()) {
    return make_error(ErrorCode::kBadFile, "dataset-path", "{}: expected a JSON list of conversations", path);
  }
  const auto value_of = [](const nlohmann::json& message) {
    return message.is_object() && message.contains("value") && message["value"].is_string()
               ? message["value"].get<std::string>()
               : std::string();
  };
  std::vector<Conversations::Pair> pairs;
  for (const auto& entry : json) {
    if (!entry.is_object() || !entry.contains("conversations") || !entry["conversations"].is_array()) continue;
    const auto& messages = entry["conversations"];
    if (messages.size() < 2) continue;
    const std::string question = value_of(messages[0]), answer = value_of(messages[1]);
    // Four bytes a token: what English comes to with the tokenizers of the field.
    const auto tokens = static_cast<std::int64_t>(answer.size() / 4);
    if (question.size() < 4 || tokens < 4 || question.size() > 4096 || tokens > 2048) continue;
    pairs.push_back({question, tokens});
  }
  if (pairs.empty()) {
    return make_error(ErrorCode::kBadFile, "dataset-path",
                      "{}: no conversation with a question and an answer of 4 to 1024 and 4 to 2048 tokens", path);
  }
  return pairs;
}

}  // namespace

WorkloadKind sharegpt() {
  return {
      .name = "sharegpt",
      .summary = "first turns of a ShareGPT file (--dataset-path), or random prompts of similar lengths without one",
      .make = [](const WorkloadOptions& options) -> MadeWorkload {
        if (options.path.empty()) return MadeWorkload(std::make_unique<ShapedLengths>(options));
        const auto text = read_dataset(options, "sharegpt");
        if (!text) return text.error();
        auto pairs = read_sharegpt(options.path, *text);
        if (!pairs) return pairs.error();
        return MadeWorkload(std::make_unique<Conversations>(options.seed, *std::move(pairs)));
      }};
}

}  // namespace millrace::loadtest::workloads
