// Prompt lookup (github.com/apoorvumang/prompt-lookup-decoding): what followed the last time that the same tokens were
// there. Knows the sequence alone and keeps nothing.

#include <algorithm>

#include "draft/branching.h"
#include "draft/drafter.h"

namespace millrace::draft::drafters {
namespace {

constexpr OptionSpec kMin = {.name = "ngram_min",
                             .flags = "--spec-ngram-min,--prompt-lookup-min",
                             .kind = OptionSpec::Kind::kWhole,
                             .low = 1.0,
                             .high = 64.0,
                             .neutral = 2.0,
                             .help = "Min tokens of an n-gram match before --spec-method ngram proposes draft tokens"};
constexpr OptionSpec kMax = {.name = "ngram_max",
                             .flags = "--spec-ngram-max,--prompt-lookup-max",
                             .kind = OptionSpec::Kind::kWhole,
                             .low = 1.0,
                             .high = 64.0,
                             .neutral = 32.0,
                             .help = "Max tokens of an n-gram match that --spec-method ngram looks for"};

constexpr std::size_t kPlaces = 64;  // where the draft may branch off, the last ones

class Ngram final : public Drafter {
 public:
  Ngram(std::int64_t least, std::int64_t most) : min_(least), max_(most) {}

  void draft(std::span<Task> tasks) override {
    for (Task& task : tasks) {
      places_.clear();
      const Place match = longest_match(task.tokens, task.further_branches > 0);
      if (match.alike < min_) continue;
      copy(task, match);
      branch_off(task, places_);
    }
  }

 private:
  // The longest, of equal ones the last; and into places_ those on the way there that are long enough. O(tokens), and a
  // comparison for each that is as the last one.
  Place longest_match(std::span<const std::int32_t> tokens, bool keeps_places) {
    Place best;
    const auto size = static_cast<std::int64_t>(tokens.size());
    const std::int32_t last = tokens.back();
    for (std::int64_t next = size - 1; next > 0 && best.alike < max_; --next) {
      if (tokens[static_cast<std::size_t>(next - 1)] != last) continue;
      const std::int64_t limit = std::min(max_, next);
      std::int64_t alike = 1;
      while (alike < limit &&
             tokens[static_cast<std::size_t>(next - 1 - alike)] == tokens[static_cast<std::size_t>(size - 1 - alike)]) {
        ++alike;
      }
      if (alike > best.alike) best = {tokens, next, alike};
      if (keeps_places && alike >= min_ && places_.size() < kPlaces) places_.push_back({tokens, next, alike});
    }
    return best;
  }

  // Where the match reaches the sequence's end it goes on into what was copied: a repetition.
  static void copy(Task& task, const Place& match) {
    const auto size = static_cast<std::int64_t>(task.tokens.size());
    for (std::int64_t j = 0; j < task.most; ++j) {
      const std::int64_t at = match.next + j;
      const std::int32_t token = at < size ? task.tokens[static_cast<std::size_t>(at)]
                                           : task.drafts[static_cast<std::size_t>(at - size)].token;
      task.drafts.push_back({token, confidence_of(match.alike + j)});
    }
  }

  std::int64_t min_, max_;
  std::vector<Place> places_;
};

}  // namespace

DrafterKind ngram() {
  return {.name = "ngram",
          .description = "the tokens after the latest earlier match of the last n tokens in prompt or completion",
          .make = [](const DrafterOptions& options) -> Result<std::unique_ptr<Drafter>> {
            const std::int64_t min = options.values.whole(kMin), max = options.values.whole(kMax);
            if (min > max) {
              return make_error(ErrorCode::kInvalidArgument, "spec-ngram-min",
                                "spec-ngram-min is {}: expected 1 to spec-ngram-max, {}", min, max);
            }
            return std::unique_ptr<Drafter>(std::make_unique<Ngram>(min, max));
          },
          .options = {kMin, kMax}};
}

}  // namespace millrace::draft::drafters
