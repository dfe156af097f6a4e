#include <cmath>

#include "base/counter_rng.h"
#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

// A tree of three levels, as products have it: half of the prefix is everybody's (the system prompt), half is one of
// `prefixes` (an agent's instructions, a document), and the rest is the user's own. Branch k is asked for 1/k as often
// as the first (Zipf).
class SharedPrefix final : public Workload {
 public:
  explicit SharedPrefix(const WorkloadOptions& options) : options_(options), prompts_(options) {
    for (std::int64_t k = 1; k <= options_.prefixes; ++k) weight_ += 1.0 / static_cast<double>(k);
  }

  Session session(std::uint64_t index) const override {
    const std::int64_t root = options_.prefix_tokens / 2;
    Session session;
    Turn& turn = session.turns.emplace_back();
    prompts_.append(turn, root, stream_of(Purpose::kPrefix, 0));
    prompts_.append(turn, options_.prefix_tokens - root, stream_of(Purpose::kBranch, branch_of(index)));
    prompts_.append(turn, sample(options_.input, options_.seed, index, kInputLength), stream_of(Purpose::kOwn, index));
    turn.output_tokens = sample(options_.output, options_.seed, index, kOutputLength);
    return session;
  }

 private:
  std::uint64_t branch_of(std::uint64_t index) const {
    double left = rng::uniform(options_.seed, index, kPrefixChoice) * weight_;
    std::int64_t k = 1;
    for (; k < options_.prefixes && (left -= 1.0 / static_cast<double>(k)) > 0.0; ++k) {
    }
    return static_cast<std::uint64_t>(k);
  }

  WorkloadOptions options_;
  PromptSource prompts_;
  double weight_ = 0.0;
};

}  // namespace

WorkloadKind shared_prefix() {
  return {.name = "shared-prefix",
          .summary =
              "prompts with a prefix of --prefix-len tokens, half common to all and half one of --num-prefixes (Zipf)",
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            if (options.prefix_tokens < 2) {
              return make_error(ErrorCode::kInvalidArgument, "prefix-len",
                                "prefix-len is {}: shared-prefix wants 2 tokens at least", options.prefix_tokens);
            }
            return MadeWorkload(std::make_unique<SharedPrefix>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
