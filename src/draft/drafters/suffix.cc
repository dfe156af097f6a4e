// Suffix decoding (arXiv:2411.04975): the longest suffix of the sequence that was seen before, in itself or in earlier
// answers of its scope; what followed there most often.

#include <algorithm>
#include <list>
#include <string>
#include <unordered_map>

#include "draft/branching.h"
#include "draft/drafter.h"
#include "draft/suffix_index.h"

namespace millrace::draft::drafters {
namespace {

constexpr OptionSpec kTokens = {
    .name = "suffix_tokens",
    .flags = "--spec-suffix-tokens",
    .kind = OptionSpec::Kind::kWhole,
    .high = 1 << 28,
    .neutral = 1 << 20,
    .help = "Max tokens of earlier completions that --spec-method suffix keeps to match against; 0 = none"};

constexpr std::int32_t kSeparator = -1;  // between answers; no token

class Suffix final : public Drafter {
 public:
  explicit Suffix(std::int64_t tokens) : max_remembered_(tokens) {}

  void draft(std::span<Task> tasks) override {
    for (Task& task : tasks) {
      SuffixIndex& own = live_[task.sequence];
      own.append(task.tokens.subspan(own.tokens().size()));
      matches_.clear();
      own.find(task.tokens, matches_);
      const std::size_t own_matches = matches_.size();
      const std::int64_t own_length = own_matches > 0 ? matches_.front().alike : 0;
      const auto scope = scopes_.find(std::string(task.scope));
      if (scope != scopes_.end()) scope->second.index.find(task.tokens, matches_);
      if (matches_.empty()) continue;
      const std::size_t kept = matches_.front().alike > own_length ? 0 : own_matches;
      places_.clear();
      for (std::size_t i = 0; i < matches_.size(); ++i) {
        places_.push_back(place_of(i < kept ? own : scope->second.index, matches_[i]));
      }
      vote(task, matches_.front().alike);
      if (task.further_branches > 0) branch(task, own, scope == scopes_.end() ? nullptr : &scope->second.index);
    }
  }

  void ended(std::uint64_t sequence, std::string_view scope, std::span<const std::int32_t> answer) override {
    live_.erase(sequence);
    if (max_remembered_ == 0 || std::ssize(answer) < SuffixIndex::kGram) return;
    const auto [it, first] = scopes_.try_emplace(std::string(scope));
    Scope& remembered = it->second;
    if (first) {
      by_use_.push_front(it->first);
      remembered.place = by_use_.begin();
    } else {
      by_use_.splice(by_use_.begin(), by_use_, remembered.place);
    }
    const auto before = std::ssize(remembered.index.tokens());
    remembered.index.append(answer);
    remembered.index.append({&kSeparator, 1});
    remembered_ += std::ssize(remembered.index.tokens()) - before;
    forget();
  }

 private:
  static Place place_of(const SuffixIndex& index, const SuffixIndex::Match& match) {
    return {index.tokens(), match.next, match.alike};
  }

  // Where shorter suffixes were speaks for branches too.
  void branch(Task& task, const SuffixIndex& own, const SuffixIndex* remembered) {
    places_.clear();
    for (const SuffixIndex* index : {&own, remembered}) {
      if (index == nullptr) continue;
      matches_.clear();
      index->find_all(task.tokens, matches_);
      for (const SuffixIndex::Match& match : matches_) places_.push_back(place_of(*index, match));
    }
    branch_off(task, places_);
  }

  struct Scope {
    SuffixIndex index;
    std::list<std::string>::iterator place;  // in by_use_
  };

  // The scope used longest ago goes first, the last one loses its older half.
  void forget() {
    while (remembered_ > max_remembered_ && scopes_.size() > 1) {
      const auto it = scopes_.find(by_use_.back());
      remembered_ -= std::ssize(it->second.index.tokens());
      scopes_.erase(it);
      by_use_.pop_back();
    }
    if (remembered_ <= max_remembered_) return;
    SuffixIndex& index = scopes_.begin()->second.index;
    index.keep_last(max_remembered_ / 2);
    remembered_ = std::ssize(index.tokens());
  }

  // Token by token what most of the places that agree so far go on with; the last place decides a tie.
  void vote(Task& task, std::int64_t alike) {
    for (std::int64_t j = 0; j < task.most && !places_.empty(); ++j) {
      const auto token_of = [&](const Place& place) {
        const auto at = static_cast<std::size_t>(place.next + j);
        return at < place.text.size() ? place.text[at] : kSeparator;
      };
      std::int32_t most_frequent = kSeparator;
      std::int64_t max_votes = 0;
      for (const Place& place : places_) {
        const std::int32_t token = token_of(place);
        const auto votes = std::ranges::count(places_, token, token_of);
        if (token != kSeparator && votes > max_votes) most_frequent = token, max_votes = votes;
      }
      if (most_frequent == kSeparator) return;
      const float share = static_cast<float>(max_votes) / static_cast<float>(places_.size());
      task.drafts.push_back({most_frequent, share * confidence_of(alike + j)});
      std::erase_if(places_, [&](const Place& place) { return token_of(place) != most_frequent; });
    }
  }

  std::int64_t max_remembered_;
  std::unordered_map<std::uint64_t, SuffixIndex> live_;
  std::unordered_map<std::string, Scope> scopes_;
  std::list<std::string> by_use_;  // scopes, the last one used first
  std::int64_t remembered_ = 0;    // tokens of all scopes
  std::vector<SuffixIndex::Match> matches_;
  std::vector<Place> places_;
};

}  // namespace

DrafterKind suffix() {
  return {
      .name = "suffix",
      .description =
          "the most frequent continuation of the longest suffix seen before, in this request or in earlier completions",
      .make = [](const DrafterOptions& options) -> Result<std::unique_ptr<Drafter>> {
        return std::unique_ptr<Drafter>(std::make_unique<Suffix>(options.values.whole(kTokens)));
      },
      .options = {kTokens}};
}

}  // namespace millrace::draft::drafters
