// A smaller model of the same vocabulary drafts (arXiv:2302.01318, arXiv:2211.17192). Its keys and values lie in pages
// of the same numbers as the target's, so that it shares, forks and loses them as the target does.

#include <fmt/format.h>

#include <unordered_map>

#include "base/checksum.h"
#include "draft/draft_rounds.h"
#include "draft/drafter.h"
#include "draft/page_coverage.h"
#include "model/computation_key.h"
#include "model/transformer.h"

namespace millrace::draft::drafters {
namespace {

class DraftModel final : public Drafter, public kv::PageListener {
 public:
  DraftModel(const DraftPlace& place, std::shared_ptr<model::Transformer> model, std::uint64_t key, kv::KvStore store)
      : model_(std::move(model)),
        store_(std::move(store)),
        coverage_(place.pages, place.form.block_tokens),
        rounds_(place),
        workspace_(model_->reserve(kCatchUpTokens, DraftRounds::sequences(place))) {
    companion_ = {.key = checksum(fmt::format("{:016x} {:016x} {}", key, model::computation_key(model_->spec()),
                                              store_.page_bytes())),
                  .page_bytes = PageCoverage::kBytes + store_.page_bytes()};
  }

  bool computes() const noexcept override { return true; }
  kv::PageListener* listener() noexcept override { return this; }
  void copied(kv::BlockId from, kv::BlockId to) override {
    store_.copy(from, to);
    coverage_.copied(from, to);
  }
  void rewritten(kv::BlockId page) override { coverage_.forget(page); }
  // What is covered; the draft model's keys and values.
  kv::PageCompanion companion() const noexcept override { return companion_; }
  void read_companion(kv::BlockId page, std::span<std::byte> out) const override {
    coverage_.read(page, out.first<PageCoverage::kBytes>());
    store_.read(page, out.subspan(PageCoverage::kBytes));
  }
  void write_companion(kv::BlockId page, std::span<const std::byte> in) override {
    coverage_.write(page, in.first<PageCoverage::kBytes>());
    store_.write(page, in.subspan(PageCoverage::kBytes));
  }
  DraftMemory memory() const noexcept override {
    return {.weights = model_->weight_bytes(), .pages = store_.bytes(), .workspace = workspace_};
  }

  void draft(std::span<Task> tasks) override {
    computed_.clear();
    for (Task& task : tasks) {
      task.most = std::min(task.most, model_->max_length() - std::ssize(task.tokens));
      Known& known = known_[task.sequence];
      extend_hashes(task.tokens, known.hashes);
      keep_accepted_drafts(task, known);
      computed_.push_back(std::min(coverage_.covered(known.hashes, task.pages), std::ssize(task.tokens) - 1));
    }
    const std::vector<std::int64_t> before = computed_;
    rounds_.run(tasks, computed_, [&](const model::BatchInput& input) { return model_->forward(input, store_); });
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Known& known = known_[tasks[i].sequence];
      coverage_.cover(known.hashes, tasks[i].pages, before[i], computed_[i]);
      known.drafted.clear();
      for (const Token& token : tasks[i].drafts) known.drafted.push_back(token.token);
    }
  }
  void ended(std::uint64_t sequence, std::string_view, std::span<const std::int32_t>) override {
    known_.erase(sequence);
  }

 private:
  struct Known {
    std::vector<std::uint64_t> hashes;
    std::vector<std::int32_t> drafted;  // in the last call, to follow on...
    std::int64_t drafted_from = 0;      // ...as many tokens
  };

  // The keys and values of draft tokens were computed with them, but for the last one's.
  void keep_accepted_drafts(const Task& task, Known& known) {
    std::int64_t right = 0;
    while (right + 1 < std::ssize(known.drafted) && known.drafted_from + right < std::ssize(task.tokens) &&
           task.tokens[static_cast<std::size_t>(known.drafted_from + right)] ==
               known.drafted[static_cast<std::size_t>(right)]) {
      ++right;
    }
    if (right > 0 && coverage_.covered(known.hashes, task.pages) >= known.drafted_from) {
      coverage_.cover(known.hashes, task.pages, known.drafted_from, known.drafted_from + right);
    }
    known.drafted.clear();
    known.drafted_from = std::ssize(task.tokens);
  }

  std::shared_ptr<model::Transformer> model_;
  kv::KvStore store_;
  PageCoverage coverage_;
  kv::PageCompanion companion_;
  DraftRounds rounds_;
  std::unordered_map<std::uint64_t, Known> known_;
  std::size_t workspace_;
  std::vector<std::int64_t> computed_;
};

Result<std::unique_ptr<Drafter>> make(const DrafterOptions& options) try {
  if (!options.model) return make_error(ErrorCode::kInvalidArgument, "spec-model", "draft-model needs --spec-model");
  const DraftPlace& place = options.place;
  const std::int64_t own = options.model->spec().vocab_size, targets = place.target->spec().vocab_size;
  if (own != targets) {
    return make_error(ErrorCode::kInvalidArgument, "spec-model",
                      "the draft model has a vocabulary of {} tokens, the model one of {}", own, targets);
  }
  auto store = options.model->make_store(place.form, place.pages);
  if (!store) return store.error();
  return std::unique_ptr<Drafter>(
      std::make_unique<DraftModel>(place, options.model, options.model_key, *std::move(store)));
} catch (const LoadError& failure) {
  return failure.error();
}

Result<std::size_t> page_bytes(const DrafterOptions& options) {
  if (!options.model) return std::size_t{0};  // make() says what is wrong
  return options.model->kv_groups(options.place.form).page_bytes(*options.place.backend);
}

}  // namespace

DrafterKind draft_model() {
  return {.name = "draft-model",
          .description = "a smaller model with the same vocabulary, named by --spec-model",
          .make = make,
          .needs = Needs::kModel,
          .page_bytes = page_bytes};
}

}  // namespace millrace::draft::drafters
