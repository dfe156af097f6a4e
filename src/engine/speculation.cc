#include "engine/speculation.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "draft/forced_tokens.h"
#include "engine/active_sequence.h"
#include "engine/executor.h"

namespace millrace::engine {
namespace {

constexpr double kOwnWeight = 8.0;    // tokens of an answer that its own record needs to outweigh that of all
constexpr double kPriorWeight = 4.0;  // and the record of all to outweigh the drafter's opinion
constexpr double kNotWorthLooking = 0.02;
constexpr double kFirstMean = 0.6;  // of a draft model's tokens, until some were verified
constexpr std::int64_t kProbeSteps =
    96;                                // an answer goes without before a model may draft again, to see if it got better
constexpr float kNoConfidence = 0.5f;  // `mean` does not tell confidences apart

}  // namespace

Speculation::Speculation(Executor& executor, const SpeculationConfig& config)
    : executor_(executor), drafter_(executor.drafter()), config_(config) {
  if (config_.rule == nullptr) config_.rule = decode::find_verification_rule("coupled");
}

std::int64_t Speculation::most(const ActiveSequence& running) const noexcept {
  return std::min({config_.tokens, running.record.most, running.max_drafts()});
}

// Only the samples that would be made anyway can be compared with several draft tokens.
int Speculation::further_branches(const ActiveSequence& running) const noexcept {
  return config_.rule->same_tokens ? std::min(config_.max_branches, running.record.max_branches) - 1 : 0;
}

// Which sequences to draft for, and how many tokens at most.
void Speculation::ask(std::span<ActiveSequence* const> decoding, const sched::StepWork& work,
                      const sched::StepCost& cost) {
  asked_.clear();
  forced_.clear();
  tasks_.clear();
  offers_.clear();
  rates_.resize(std::max(rates_.size(), decoding.size()));
  for (ActiveSequence* running : decoding) {
    running->drafts.clear();
    running->branches.clear();
    running->record.forget();
    const auto n = static_cast<std::size_t>(most(*running));
    if (n == 0) continue;
    if (force(*running, n)) {
      forced_.push_back(running);
      continue;
    }
    if (drafter_ == nullptr) continue;
    const double of_all = mean_.rate(kNoConfidence, kFirstMean, kPriorWeight);
    std::vector<double>& rates = rates_[asked_.size()];
    rates.assign(n, running->record.mean.rate(kNoConfidence, of_all, kOwnWeight));
    offers_.push_back({.acceptance = rates, .position = running->length(), .length = std::ssize(rates)});
    asked_.push_back(running);
  }
  if (config_.adaptive && config_.rule->draft_length != nullptr) {
    const double ratio = round_ms_ / std::max(cost.milliseconds(work), 1e-6);
    for (sched::DraftOffer& offer : offers_) {
      offer.length = config_.rule->draft_length(offer.acceptance[0], ratio, static_cast<int>(offer.length));
    }
  } else if (config_.adaptive && computes()) {
    sched::choose_draft_lengths(offers_, work, cost, round_ms_);
  }
  probe(cost.milliseconds(work));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    ActiveSequence& running = *asked_[i];
    if (offers_[i].length == 0) continue;
    asked_[kept++] = &running;
    tasks_.push_back({.sequence = running.id,
                      .scope = running.scope.salt,
                      .tokens = running.tokens,
                      .prompt_tokens = running.prompt_tokens,
                      .most = offers_[i].length,
                      .pipeline = &running.pipeline,
                      .pages = running.blocks.blocks(),
                      .window_pages = running.blocks.window_blocks(),
                      .wants_distributions = !config_.rule->same_tokens,
                      .further_branches = further_branches(running),
                      .drafts = {},
                      .distributions = {},
                      .branches = {}});
  }
  asked_.resize(kept);
}

// All that are due are asked for together: a pass costs about the same for one and for many.
void Speculation::probe(double step_ms) {
  allowance_.add_step(step_ms, round_ms_);
  const bool covered = allowance_.covers(round_ms_);
  bool probed = false;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    std::int64_t& skipped = asked_[i]->record.skipped;
    if (offers_[i].length > 0 || ++skipped < kProbeSteps || !covered) continue;
    offers_[i].length = 1;
    skipped = 0;
    probed = true;
  }
  if (probed) allowance_.spend(round_ms_);
}

void Speculation::draft(std::span<ActiveSequence* const> decoding, const sched::StepWork& work,
                        const sched::StepCost& cost, Env& env) {
  ask(decoding, work, cost);
  if (!asked_.empty()) consult(env);
  asked_.insert(asked_.end(), forced_.begin(), forced_.end());
  if (!asked_.empty()) choose(work, cost);
}

// What must come in the sequence's grammar is its draft.
bool Speculation::force(ActiveSequence& running, std::size_t most) const {
  if (!config_.jump_forward) return false;
  const auto grammar = running.pipeline.grammar();
  if (!grammar) return false;
  std::vector<draft::Token>& offered = running.record.offered;
  offered = draft::forced_tokens(*grammar, static_cast<std::int64_t>(most));
  const auto unknown = [&](const draft::Token& draft_token) { return draft_token.token >= running.vocab_size; };
  offered.erase(std::ranges::find_if(offered, unknown), offered.end());
  return !offered.empty();
}

// The drafter may want memory that is not there; what it had drafted is lost then.
void Speculation::ask_drafter() {
  try {
    drafter_->draft(tasks_);
    failed_ = false;
  } catch (const LoadError& failure) {
    if (!std::exchange(failed_, true)) log::warn("no tokens are drafted: {}", failure.error().message);
    for (draft::Task& task : tasks_) {
      task.drafts.clear();
      task.distributions.clear();
      task.branches.clear();
    }
  }
}

void Speculation::consult(Env& env) {
  double spent_ms = 0.0;  // not waiting for its turn
  const auto work = [&] {
    const TimePoint start = env.now();
    ask_drafter();
    spent_ms = milliseconds_between(start, env.now());
  };
  drafter_->computes() ? executor_.run_exclusive(work) : work();
  std::int64_t rounds = 0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    rounds = std::max<std::int64_t>(rounds, std::ssize(tasks_[i].drafts));
    DraftRecord& record = asked_[i]->record;
    record.offered = std::move(tasks_[i].drafts);
    record.distributions = std::move(tasks_[i].distributions);
    record.branches = std::move(tasks_[i].branches);
    if (const auto grammar = asked_[i]->pipeline.grammar())
      draft::keep_fitting(*grammar, record.offered, record.branches);
  }
  if (drafter_->computes() && rounds > 0) {
    const double ms = spent_ms / static_cast<double>(rounds);
    round_ms_ = round_ms_ == 0.0 ? ms : round_ms_ + 0.1 * (ms - round_ms_);
  }
}

// How many of the draft tokens to verify.
void Speculation::choose(const sched::StepWork& work, const sched::StepCost& cost) {
  offers_.clear();
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const DraftRecord& record = asked_[i]->record;
    rates_[i].clear();
    double reached = 1.0;
    for (const draft::Token& token : record.offered) {
      rates_[i].push_back(rate(record, token.confidence));
      reached *= rates_[i].back();
      if (reached < kNotWorthLooking && config_.adaptive) break;
    }
    offers_.push_back({.acceptance = rates_[i], .position = asked_[i]->length(), .length = std::ssize(record.offered)});
  }
  if (config_.adaptive) sched::choose_draft_lengths(offers_, work, cost);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    for (std::int64_t j = 0; j < offers_[i].length; ++j) {
      asked_[i]->drafts.push_back(asked_[i]->record.offered[static_cast<std::size_t>(j)].token);
    }
  }
  choose_branches(work, cost);
}

double Speculation::rate(const DraftRecord& record, float confidence) const noexcept {
  const double of_all = acceptance_.rate(confidence, static_cast<double>(confidence), kPriorWeight);
  return record.acceptance.rate(confidence, of_all, kOwnWeight);
}

double Speculation::forking_rate(const DraftRecord& record, float confidence) const noexcept {
  const double of_all = forking_.rate(confidence, static_cast<double>(confidence), kPriorWeight);
  return record.forking.rate(confidence, of_all, kOwnWeight);
}

// How much of the branches to compute, besides the drafts: of those that leave a draft where a token of it is computed.
void Speculation::choose_branches(sched::StepWork work, const sched::StepCost& cost) {
  if (std::ranges::all_of(asked_, [](const ActiveSequence* one) { return one->record.branches.empty(); })) return;
  branch_offers_.clear();
  std::vector<std::pair<ActiveSequence*, const draft::Branch*>> branches;
  auto yield = static_cast<double>(work.tokens);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    ActiveSequence& running = *asked_[i];
    std::vector<double> reached = {1.0};  // [j]: the first j tokens of the draft are right
    for (std::size_t j = 0; j < running.drafts.size(); ++j) {
      reached.push_back(reached.back() * rate(running.record, running.record.offered[j].confidence));
      yield += reached.back();
      work.add(1, running.length() + static_cast<std::int64_t>(j));
      ++work.samples;
    }
    for (const draft::Branch& branch : running.record.branches) {
      if (branch.from >= std::ssize(running.drafts)) continue;
      const std::size_t n = branches.size();
      if (branch_rates_.size() <= n) branch_rates_.emplace_back();
      branch_rates_[n].clear();
      for (const draft::Token& token : branch.tokens) {
        branch_rates_[n].push_back(branch_rates_[n].empty() ? forking_rate(running.record, token.confidence)
                                                            : rate(running.record, token.confidence));
      }
      branches.emplace_back(&running, &branch);
      branch_offers_.push_back({.reached = reached[static_cast<std::size_t>(branch.from)],
                                .acceptance = {},
                                .shared = branch.from,
                                .position = running.length() - 1,
                                .length = std::ssize(branch.tokens)});
    }
  }
  for (std::size_t n = 0; n < branches.size(); ++n) branch_offers_[n].acceptance = branch_rates_[n];
  if (config_.adaptive) sched::choose_draft_branches(branch_offers_, work, yield, cost);
  for (std::size_t n = 0; n < branches.size(); ++n) {
    const auto& [running, branch] = branches[n];
    const auto length = static_cast<std::size_t>(branch_offers_[n].length);
    if (length == 0) continue;
    auto& chain = running->branches.emplace_back(running->drafts.begin(), running->drafts.begin() + branch->from);
    for (std::size_t j = 0; j < length; ++j) chain.push_back(branch->tokens[j].token);
  }
}

Result<decode::Verdict> Speculation::next(ActiveSequence& running, std::span<const float> logits, std::size_t index,
                                          bool drafted) {
  DraftRecord& record = running.record;
  std::optional<decode::DraftedToken> draft_token;
  if (drafted) {
    draft_token = decode::DraftedToken{.token = record.offered[index].token, .distribution = {}};
    if (index < record.distributions.size()) draft_token->distribution = record.distributions[index];
  }
  auto verdict = config_.rule->next(running.pipeline, logits, running.length(), draft_token);
  if (verdict) observe(running, index, verdict->token);
  return verdict;
}

// The draft tokens of that place, as far as those before it were accepted.
void Speculation::observe(ActiveSequence& running, std::size_t index, std::int32_t token) {
  DraftRecord& record = running.record;
  const auto sampled = std::span(running.tokens).last(index);
  const auto agree = [](const draft::Token& draft_token, std::int32_t one) { return draft_token.token == one; };
  if (index < record.offered.size() && std::ranges::equal(std::span(record.offered).first(index), sampled, agree)) {
    const draft::Token& offered = record.offered[index];
    const bool right = offered.token == token;
    acceptance_.observe(offered.confidence, right);
    record.acceptance.observe(offered.confidence, right);
    mean_.observe(kNoConfidence, right);
    record.mean.observe(kNoConfidence, right);
  }
  for (const draft::Branch& branch : record.branches) {
    const auto from = static_cast<std::size_t>(branch.from);
    if (index < from || index - from >= branch.tokens.size()) continue;
    if (!std::ranges::equal(std::span(record.offered).first(from), sampled.first(from), agree)) continue;
    const auto own = std::span(branch.tokens).first(index - from + 1);
    if (!std::ranges::equal(own.first(index - from), sampled.subspan(from), agree)) continue;
    const bool right = own.back().token == token;
    (index == from ? forking_ : acceptance_).observe(own.back().confidence, right);
    (index == from ? record.forking : record.acceptance).observe(own.back().confidence, right);
  }
}

void Speculation::ended(const ActiveSequence& running) {
  if (drafter_ == nullptr) return;
  drafter_->ended(running.id, running.scope.salt,
                  std::span(running.tokens).subspan(static_cast<std::size_t>(running.prompt_tokens)));
}

}  // namespace millrace::engine
