#include <algorithm>

#include "draft/drafter.h"

namespace millrace::draft::drafters {
namespace {

constexpr OptionSpec kLength = {.name = "stutter_length",
                                .flags = "--spec-stutter-length",
                                .kind = OptionSpec::Kind::kWhole,
                                .low = 1.0,
                                .high = 8.0,
                                .neutral = 2.0,
                                .help = "Draft tokens of --spec-method stutter, each the last token once more"};

class Stutter final : public Drafter {
 public:
  explicit Stutter(std::int64_t length) : length_(length) {}
  void draft(std::span<Task> tasks) override {
    for (Task& task : tasks) {
      task.drafts.assign(static_cast<std::size_t>(std::min(task.most, length_)), {task.tokens.back(), 0.9f});
    }
  }

 private:
  std::int64_t length_;
};

}  // namespace

DrafterKind stutter() {
  return {.name = "stutter",
          .description = "the last token once more",
          .make = [](const DrafterOptions& options) -> Result<std::unique_ptr<Drafter>> {
            return std::unique_ptr<Drafter>(std::make_unique<Stutter>(options.values.whole(kLength)));
          },
          .options = {kLength}};
}

}  // namespace millrace::draft::drafters
