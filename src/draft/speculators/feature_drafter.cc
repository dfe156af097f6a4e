#include "draft/speculators/feature_drafter.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/checksum.h"
#include "draft/draft_rounds.h"
#include "draft/page_coverage.h"

namespace millrace::draft {
namespace {

class FeatureDrafter final : public Drafter, public kv::PageListener {
 public:
  FeatureDrafter(const DraftPlace& place, std::unique_ptr<FeatureSpeculator> head, std::unique_ptr<StatePages> states,
                 kv::KvStore store)
      : head_(std::move(head)),
        states_(std::move(states)),
        store_(std::move(store)),
        coverage_(place.pages, place.form.block_tokens),
        block_tokens_(place.form.block_tokens),
        max_length_(place.target->max_length()),
        rounds_(place) {
    companion_ = {
        .key = checksum(fmt::format("{:016x} {:016x} {}", states_->companion().key, head_->key(), store_.page_bytes())),
        .page_bytes = PageCoverage::kBytes + states_->companion().page_bytes + store_.page_bytes()};
  }

  bool computes() const noexcept override { return true; }
  kv::PageListener* listener() noexcept override { return this; }
  model::HiddenStateHook* hook() noexcept override { return states_.get(); }
  void copied(kv::BlockId from, kv::BlockId to) override {
    store_.copy(from, to);
    states_->copied(from, to);
    coverage_.copied(from, to);
  }
  void rewritten(kv::BlockId page) override {
    states_->rewritten(page);
    coverage_.forget(page);
  }

  // What is covered; the target's states; the head's keys and values.
  kv::PageCompanion companion() const noexcept override { return companion_; }
  void read_companion(kv::BlockId page, std::span<std::byte> out) const override {
    coverage_.read(page, out.first<PageCoverage::kBytes>());
    out = out.subspan(PageCoverage::kBytes);
    states_->read_companion(page, out.first(states_->companion().page_bytes));
    store_.read(page, out.last(store_.page_bytes()));
  }
  void write_companion(kv::BlockId page, std::span<const std::byte> in) override {
    coverage_.write(page, in.first<PageCoverage::kBytes>());
    in = in.subspan(PageCoverage::kBytes);
    states_->write_companion(page, in.first(states_->companion().page_bytes));
    store_.write(page, in.last(store_.page_bytes()));
  }

  DraftMemory memory() const noexcept override {
    return {.weights = head_->weight_bytes(),
            .pages = states_->bytes() + store_.bytes(),
            .workspace = states_->workspace_bytes() + head_->workspace_bytes()};
  }

  void draft(std::span<Task> tasks) override {
    computed_.clear();
    claimed_.clear();
    for (Task& task : tasks) computed_.push_back(prepare(task));
    const std::vector<std::int64_t> before = computed_;
    rounds_.run(
        tasks, computed_, [&](const model::BatchInput& input) { return head_->forward(input, *states_, store_); }, 1);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (computed_[i] == before[i]) continue;
      coverage_.cover(known_[tasks[i].sequence].reached, tasks[i].pages, before[i], computed_[i]);
    }
  }
  void ended(std::uint64_t sequence, std::string_view, std::span<const std::int32_t>) override {
    known_.erase(sequence);
  }

 private:
  struct Known {
    std::vector<std::uint64_t> hashes;   // of the first so many tokens
    std::vector<std::uint64_t> reached;  // of what so many rows of the head are made of
  };

  // Rows of the task that are there; `most` is 0 where the others cannot be computed now.
  std::int64_t prepare(Task& task) {
    const std::int64_t rows = std::ssize(task.tokens) - 1;
    task.most = std::min(task.most, max_length_ - std::ssize(task.tokens));
    if (rows < 1) task.most = 0;
    if (task.most <= 0) return 0;
    Known& known = known_[task.sequence];
    extend(task.tokens, known);
    const std::int64_t computed = std::min(coverage_.covered(known.reached, task.pages), rows - 1);
    if (!states_->known(task.pages, computed, rows) || !claim(task.pages, computed, rows)) task.most = 0;
    return computed;
  }

  // A row is of a token and the next one. Where that lies in another page, which others may not share, a page is the
  // one that it is by its own tokens: who came first left the last of its rows, and the page is not computed anew.
  void extend(std::span<const std::int32_t> tokens, Known& known) const {
    extend_hashes(tokens, known.hashes);
    for (std::int64_t rows = std::ssize(known.reached); rows < std::ssize(tokens); ++rows) {
      const std::int64_t tokens_of_them = rows % block_tokens_ == 0 ? rows : rows + 1;
      known.reached.push_back(known.hashes[static_cast<std::size_t>(tokens_of_them)]);
    }
  }

  // No other sequence writes those pages in this call: sequences that share them take turns, and the next finds them
  // done.
  bool claim(std::span<const kv::BlockId> pages, std::int64_t from, std::int64_t to) {
    const auto first = static_cast<std::size_t>(from / block_tokens_);
    const auto last = static_cast<std::size_t>((to - 1) / block_tokens_);
    const auto wanted = pages.subspan(first, last - first + 1);
    if (std::ranges::any_of(wanted, [&](kv::BlockId page) { return claimed_.contains(page); })) return false;
    claimed_.insert(wanted.begin(), wanted.end());
    return true;
  }

  std::unique_ptr<FeatureSpeculator> head_;
  std::unique_ptr<StatePages> states_;
  kv::KvStore store_;
  PageCoverage coverage_;
  kv::PageCompanion companion_;
  std::int64_t block_tokens_, max_length_;
  DraftRounds rounds_;
  std::unordered_map<std::uint64_t, Known> known_;
  std::unordered_set<kv::BlockId> claimed_;  // in this call
  std::vector<std::int64_t> computed_;
};

}  // namespace

std::size_t feature_page_bytes(const SpeculatorSpec& spec, const DraftPlace& place) {
  return StatePages::page_bytes(place.form, spec.model.hidden_size) +
         kv_groups(spec, place.form).page_bytes(*place.backend);
}

Result<std::unique_ptr<Drafter>> make_feature_drafter(const DraftPlace& place,
                                                      std::unique_ptr<FeatureSpeculator> head) {
  auto states = StatePages::create(place, head->recipe());
  if (!states) return states.error();
  auto store = kv::KvStore::create(*place.backend, kv_groups(head->spec(), place.form), place.pages);
  if (!store) return store.error();
  return std::unique_ptr<Drafter>(
      std::make_unique<FeatureDrafter>(place, std::move(head), *std::move(states), *std::move(store)));
}

}  // namespace millrace::draft
