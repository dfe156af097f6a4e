#include <algorithm>

#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

constexpr OptionSpec kCap = {.name = "widest_cap",
                             .kind = OptionSpec::Kind::kWhole,
                             .low = 1.0,
                             .high = 1e6,
                             .neutral = 1000.0,
                             .help = "Prompt tokens above which --scheduling-policy widest ranks all prompts alike"};

// The longest prompt first.
class Widest final : public SchedulePolicy {
 public:
  explicit Widest(std::int64_t cap) : cap_(cap) {}
  Rank rank(const Sequence& sequence, const PolicyView&) const override {
    return {.group = 0.0, .key = -static_cast<double>(std::min(sequence.prompt_tokens, cap_))};
  }
  bool ranks_stay() const noexcept override { return true; }

 private:
  std::int64_t cap_;
};

}  // namespace

PolicyKind widest() {
  return {"widest",
          "longest prompt first",
          [](const PolicyOptions& options) {
            return std::unique_ptr<SchedulePolicy>(std::make_unique<Widest>(options.values.whole(kCap)));
          },
          {kCap}};
}

}  // namespace millrace::sched::policies
