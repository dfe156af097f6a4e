#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

class Random final : public Workload {
 public:
  explicit Random(const WorkloadOptions& options) : options_(options), prompts_(options) {}

  Session session(std::uint64_t index) const override {
    Session session;
    Turn& turn = session.turns.emplace_back();
    prompts_.append(turn, options_.prefix_tokens, stream_of(Purpose::kPrefix, 0));
    prompts_.append(turn, sample(options_.input, options_.seed, index, kInputLength), stream_of(Purpose::kOwn, index));
    turn.output_tokens = sample(options_.output, options_.seed, index, kOutputLength);
    return session;
  }

 private:
  WorkloadOptions options_;
  PromptSource prompts_;
};

}  // namespace

WorkloadKind random() {
  return {.name = "random",
          .summary = "prompts of random tokens after a common prefix of --prefix-len tokens",
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            return MadeWorkload(std::make_unique<Random>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
