#include "sched/length_predictor.h"

namespace millrace::sched {
namespace {
class MaxTokens final : public LengthPredictor {
 public:
  std::int64_t predict(std::uint32_t, std::int64_t, std::int64_t, std::int64_t max_tokens,
                       std::int64_t) const override {
    return max_tokens;
  }
  void observe(std::uint32_t, std::int64_t) override {}
};
}  // namespace
std::unique_ptr<LengthPredictor> make_quantile_predictor(double) { return std::make_unique<MaxTokens>(); }
}  // namespace millrace::sched
