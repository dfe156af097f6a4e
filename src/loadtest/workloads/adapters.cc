#include <algorithm>
#include <cmath>
#include <vector>

#include "base/counter_rng.h"
#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

// Random prompts to several models or adapters of one server; the k-th of the list gets 1/k^s of the first's share,
// with s of the options. A share of the requests goes to the default model.
class Adapters final : public Workload {
 public:
  explicit Adapters(const WorkloadOptions& options) : options_(options), prompts_(options) {
    for (std::size_t k = 0; k < options_.models.size(); ++k) {
      ends_.push_back((k == 0 ? 0.0 : ends_.back()) + std::pow(static_cast<double>(k + 1), -options_.zipf));
    }
  }

  Session session(std::uint64_t index) const override {
    Session session;
    Turn& turn = session.turns.emplace_back();
    prompts_.append(turn, sample(options_.input, options_.seed, index, kInputLength), stream_of(Purpose::kOwn, index));
    turn.output_tokens = sample(options_.output, options_.seed, index, kOutputLength);
    if (rng::uniform(options_.seed, index, kBaseChoice) < options_.base_share) return session;
    const double at = rng::uniform(options_.seed, index, kModelChoice) * ends_.back();
    const auto end = std::upper_bound(ends_.begin(), ends_.end() - 1, at);
    turn.model = options_.models[static_cast<std::size_t>(end - ends_.begin())];
    return session;
  }

 private:
  WorkloadOptions options_;
  PromptSource prompts_;
  std::vector<double> ends_;  // sums of the shares
};

}  // namespace

WorkloadKind adapters() {
  return {.name = "adapters",
          .summary = "random prompts to the models or adapters of --lora-modules, the first most often (--lora-zipf)",
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            if (options.models.empty()) {
              return make_error(ErrorCode::kInvalidArgument, "lora-modules",
                                "lora-modules: adapters wants the names of one model at least");
            }
            return MadeWorkload(std::make_unique<Adapters>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
