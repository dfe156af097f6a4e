#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

// A conversation: each turn adds --input-len tokens to all that was said before, so that every prompt begins with the
// prompt of the turn before it.
class MultiTurn final : public Workload {
 public:
  explicit MultiTurn(const WorkloadOptions& options) : options_(options), prompts_(options) {}

  Session session(std::uint64_t index) const override {
    Session session;
    for (std::int64_t t = 0; t < options_.turns; ++t) {
      const std::uint64_t request = index * static_cast<std::uint64_t>(options_.turns) + static_cast<std::uint64_t>(t);
      Turn& turn = session.turns.emplace_back();
      if (t == 0) prompts_.append(turn, options_.prefix_tokens, stream_of(Purpose::kPrefix, 0));
      prompts_.append(turn, sample(options_.input, options_.seed, request, kInputLength),
                      stream_of(Purpose::kOwn, request));
      turn.output_tokens = sample(options_.output, options_.seed, request, kOutputLength);
      turn.pause_s = t == 0 ? 0.0 : options_.pause_s;
    }
    return session;
  }

 private:
  WorkloadOptions options_;
  PromptSource prompts_;
};

}  // namespace

WorkloadKind multi_turn() {
  return {.name = "multi-turn",
          .summary = "conversations of --turns turns, --turn-pause seconds apart, each with the full history as prompt",
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            return MadeWorkload(std::make_unique<MultiTurn>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
