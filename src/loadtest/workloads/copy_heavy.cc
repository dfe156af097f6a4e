#include <array>

#include "base/counter_rng.h"
#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

constexpr std::array<std::string_view, 4> kTasks = {
    "Repeat the following text word by word:\n\n",
    "Correct the spelling of the following text and print all of it:\n\n",
    "Replace the word \"time\" by \"hour\" everywhere in the following text and print all of it:\n\n",
    "Put the following text into one paragraph without changing a word:\n\n"};

// Answers that are in the prompt already, as edits, summaries and code repair are: what speculation by lookup lives on.
// Text, since a task must be understood.
class CopyHeavy final : public Workload {
 public:
  explicit CopyHeavy(const WorkloadOptions& options) : options_(options), prompts_(words_only(options)) {}

  Session session(std::uint64_t index) const override {
    const double share = rng::uniform(options_.seed, index, kTextChoice);
    Session session;
    Turn& turn = session.turns.emplace_back();
    Turn passage;
    prompts_.append(passage, sample(options_.input, options_.seed, index, kInputLength),
                    stream_of(Purpose::kOwn, index));
    turn.text = std::string(kTasks[static_cast<std::size_t>(share * kTasks.size()) % kTasks.size()]) + passage.text;
    turn.output_tokens = sample(options_.output, options_.seed, index, kOutputLength);
    return session;
  }

 private:
  static WorkloadOptions words_only(WorkloadOptions options) {
    options.vocabulary = 0;
    return options;
  }
  WorkloadOptions options_;
  PromptSource prompts_;
};

}  // namespace

WorkloadKind copy_heavy() {
  return {.name = "copy-heavy",
          .summary = "text of --input-len words to repeat or edit, so that the completion copies the prompt",
          .meaningful = true,
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            return MadeWorkload(std::make_unique<CopyHeavy>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
