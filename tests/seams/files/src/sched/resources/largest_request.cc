#include "sched/admission_resource.h"

namespace millrace::sched::resources {
namespace {

constexpr OptionSpec kLargest = {.name = "largest_request",
                                 .kind = OptionSpec::Kind::kWhole,
                                 .low = 1.0,
                                 .high = 1e9,
                                 .neutral = 1e9,
                                 .help = "Tokens of prompt and answer together above which a request is rejected"};

// A limit for each sequence alone.
class LargestRequest final : public AdmissionResource {
 public:
  explicit LargestRequest(std::int64_t tokens) : tokens_(tokens) {}
  std::optional<Error> never_fits(const Sequence& sequence) const override {
    if (sequence.max_total <= tokens_) return std::nullopt;
    return make_error(ErrorCode::kResourceExhausted, "max_tokens", "the request may need {} tokens: at most {} tokens",
                      sequence.max_total, tokens_);
  }
  bool begin(const PlanDraft&) override { return true; }
  bool fits(const PlanDraft&, const JoiningSequence&) override { return true; }

 private:
  std::int64_t tokens_;
};

}  // namespace

AdmissionResourceKind largest_request() {
  return {.name = "largest-request",
          .order = 50,
          .make =
              [](const ResourceContext& context) {
                return std::unique_ptr<AdmissionResource>(
                    std::make_unique<LargestRequest>(context.options.whole(kLargest)));
              },
          .options = {kLargest}};
}

}  // namespace millrace::sched::resources
