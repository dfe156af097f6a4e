#include "base/counter_rng.h"
#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

// Random prompts to several models or adapters of one server; the k-th of the list gets 1/k of the first's share.
class Adapters final : public Workload {
 public:
  explicit Adapters(const WorkloadOptions& options) : options_(options), prompts_(options) {
    for (std::size_t k = 1; k <= options_.models.size(); ++k) weight_ += 1.0 / static_cast<double>(k);
  }

  Session session(std::uint64_t index) const override {
    double left = rng::uniform(options_.seed, index, kModelChoice) * weight_;
    std::size_t k = 0;
    for (; k + 1 < options_.models.size() && (left -= 1.0 / static_cast<double>(k + 1)) > 0.0; ++k) {
    }
    Session session;
    Turn& turn = session.turns.emplace_back();
    prompts_.append(turn, sample(options_.input, options_.seed, index, kInputLength), stream_of(Purpose::kOwn, index));
    turn.output_tokens = sample(options_.output, options_.seed, index, kOutputLength);
    turn.model = options_.models[k];
    return session;
  }

 private:
  WorkloadOptions options_;
  PromptSource prompts_;
  double weight_ = 0.0;
};

}  // namespace

WorkloadKind adapters() {
  return {.name = "adapters",
          .summary = "random prompts to the models or adapters of --lora-modules, the first most often (Zipf)",
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            if (options.models.empty()) {
              return make_error(ErrorCode::kInvalidArgument, "lora-modules",
                                "lora-modules: adapters wants the names of one model at least");
            }
            return MadeWorkload(std::make_unique<Adapters>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
