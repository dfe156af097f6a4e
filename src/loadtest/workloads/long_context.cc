#include <algorithm>

#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

// Questions on documents: --input-len tokens of one of --num-prefixes documents, then a short question of one's own.
// Users of long contexts ask the same document again; --num-prefixes 0 gives each request a document of its own.
class LongContext final : public Workload {
 public:
  explicit LongContext(const WorkloadOptions& options) : options_(options), prompts_(options) {}

  Session session(std::uint64_t index) const override {
    constexpr std::int64_t kQuestion = 16;
    const std::uint64_t document =
        options_.prefixes > 0 ? index % static_cast<std::uint64_t>(options_.prefixes) : index;
    Session session;
    Turn& turn = session.turns.emplace_back();
    const std::int64_t tokens = sample(options_.input, options_.seed, document, kInputLength);
    prompts_.append(turn, std::max<std::int64_t>(1, tokens - kQuestion), stream_of(Purpose::kDocument, document));
    prompts_.append(turn, std::min(kQuestion, tokens - 1), stream_of(Purpose::kOwn, index));
    turn.output_tokens = sample(options_.output, options_.seed, index, kOutputLength);
    return session;
  }

 private:
  WorkloadOptions options_;
  PromptSource prompts_;
};

}  // namespace

WorkloadKind long_context() {
  return {.name = "long-context",
          .summary =
              "documents with a question of 16 tokens, --input-len tokens together, over --num-prefixes different "
              "documents",
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            return MadeWorkload(std::make_unique<LongContext>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
