// The target's own first layers draft (LayerSkip, arXiv:2404.16710), or all but some of the middle (Draft & Verify,
// arXiv:2309.08168). What they write into the target's pages behind the last token, the step that verifies writes anew.

#include <algorithm>
#include <charconv>

#include "draft/draft_rounds.h"
#include "draft/drafter.h"
#include "model/transformer.h"

namespace millrace::draft::drafters {
namespace {

class EarlyExit final : public Drafter {
 public:
  EarlyExit(const DraftPlace& place, std::vector<std::int64_t> layers)
      : target_(*place.target), store_(*place.store), layers_(std::move(layers)), rounds_(place) {
    target_.reserve(kCatchUpTokens, DraftRounds::sequences(place));
  }

  bool computes() const noexcept override { return true; }
  void draft(std::span<Task> tasks) override {
    computed_.clear();
    for (Task& task : tasks) {
      task.most = std::min(task.most, target_.max_length() - std::ssize(task.tokens));
      computed_.push_back(std::ssize(task.tokens) - 1);
    }
    rounds_.run(tasks, computed_, [&](const model::BatchInput& input) {
      part_ = input;
      part_.layers = layers_;
      return target_.forward(part_, store_);
    });
  }

 private:
  model::Transformer& target_;
  const kv::KvStore& store_;
  std::vector<std::int64_t> layers_;
  DraftRounds rounds_;
  model::BatchInput part_;
  std::vector<std::int64_t> computed_;
};

constexpr OptionSpec kSkipLayers = {
    .name = "skip_layers",
    .flags = "--spec-skip-layers",
    .kind = OptionSpec::Kind::kText,
    .help =
        "Layers that --spec-method early-exit skips, FIRST-END without END, e.g. 10-20; default the second half of "
        "the layers"};

// "10-20": the layers from the first on, up to but not with the second.
Result<std::pair<std::int64_t, std::int64_t>> parse_layers(const std::string& text) {
  std::pair<std::int64_t, std::int64_t> range;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-') {
    const auto second = std::from_chars(first.ptr + 1, end, range.second);
    if (second.ec == std::errc() && second.ptr == end) return range;
  }
  return make_error(ErrorCode::kInvalidArgument, "spec-skip-layers", "spec-skip-layers is \"{}\": expected e.g. 10-20",
                    text);
}

Result<std::unique_ptr<Drafter>> make(const DrafterOptions& options) try {
  const std::int64_t layers = std::ssize(options.place.target->spec().layers);
  const std::string asked = options.values.text(kSkipLayers);
  const Result<std::pair<std::int64_t, std::int64_t>> range =
      asked.empty() ? std::pair{layers / 2, layers} : parse_layers(asked);
  if (!range) return range.error();
  const auto [begin, end] = *range;
  if (begin < 0 || begin >= end || end > layers || end - begin == layers) {
    return make_error(ErrorCode::kInvalidArgument, "spec-skip-layers",
                      "spec-skip-layers is {}-{}: expected a range within 0-{} that leaves some", begin, end, layers);
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < layers; ++i) {
    if (i < begin || i >= end) kept.push_back(i);
  }
  return std::unique_ptr<Drafter>(std::make_unique<EarlyExit>(options.place, std::move(kept)));
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace

DrafterKind early_exit() {
  return {.name = "early-exit",
          .description = "the model itself without the layers of --spec-skip-layers",
          .make = make,
          .options = {kSkipLayers}};
}

}  // namespace millrace::draft::drafters
