#include "engine/speculation.h"

#include <algorithm>
#include <utility>

#include "draft/forced_tokens.h"
#include "engine/running.h"

namespace millrace::engine {
namespace {

constexpr double kOwnWeight = 8.0;    // tokens of an answer that its own record needs to outweigh that of all
constexpr double kPriorWeight = 4.0;  // and the record of all to outweigh the drafter's opinion
constexpr double kNotWorthLooking = 0.02;
constexpr double kFirstMean = 0.6;        // of a model's guesses, until some were made
constexpr std::int64_t kProbeSteps = 96;  // after so many without, a model guesses once to see whether it got better
constexpr float kNoConfidence = 0.5f;     // `mean` does not tell confidences apart

}  // namespace

Speculation::Speculation(std::unique_ptr<draft::Drafter> drafter, const SpeculationConfig& config)
    : drafter_(std::move(drafter)), config_(config) {
  if (config_.rule == nullptr) config_.rule = decode::find_verification_rule("coupled");
}

std::int64_t Speculation::most(const Running& running) const noexcept {
  return std::min({config_.tokens, running.record.most, running.most_drafts()});
}

// Whom to guess for, and how many tokens at most.
void Speculation::ask(std::span<Running* const> decoding, const sched::StepWork& work, const sched::StepCost& cost) {
  asked_.clear();
  forced_.clear();
  tasks_.clear();
  offers_.clear();
  rates_.resize(std::max(rates_.size(), decoding.size()));
  for (Running* running : decoding) {
    running->drafts.clear();
    running->record.offered.clear();
    running->record.distributions.clear();
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
  std::size_t kept = 0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    Running& running = *asked_[i];
    if (offers_[i].length == 0 && ++running.record.skipped % kProbeSteps == 0) offers_[i].length = 1;
    if (offers_[i].length == 0) continue;
    asked_[kept++] = &running;
    tasks_.push_back({.sequence = running.id,
                      .scope = running.scope.salt,
                      .tokens = running.tokens,
                      .prompt_tokens = running.prompt_tokens,
                      .most = offers_[i].length,
                      .pipeline = &running.pipeline,
                      .pages = running.blocks.blocks(),
                      .wants_distributions = !config_.rule->same_tokens,
                      .drafts = {},
                      .distributions = {}});
  }
  asked_.resize(kept);
}

void Speculation::draft(std::span<Running* const> decoding, const sched::StepWork& work, const sched::StepCost& cost,
                        Env& env) {
  ask(decoding, work, cost);
  if (!asked_.empty()) consult(env);
  asked_.insert(asked_.end(), forced_.begin(), forced_.end());
  if (!asked_.empty()) choose(work, cost);
}

// What must come in the sequence's grammar is its guess.
bool Speculation::force(Running& running, std::size_t most) const {
  if (!config_.jump_forward) return false;
  const auto grammar = running.pipeline.grammar();
  if (!grammar) return false;
  std::vector<draft::Token>& offered = running.record.offered;
  offered = draft::forced_tokens(*grammar, static_cast<std::int64_t>(most));
  const auto unknown = [&](const draft::Token& guess) { return guess.token >= running.vocab_size; };
  offered.erase(std::ranges::find_if(offered, unknown), offered.end());
  return !offered.empty();
}

void Speculation::consult(Env& env) {
  const TimePoint start = env.now();
  drafter_->draft(tasks_);
  std::int64_t rounds = 0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    rounds = std::max<std::int64_t>(rounds, std::ssize(tasks_[i].drafts));
    DraftRecord& record = asked_[i]->record;
    record.offered = std::move(tasks_[i].drafts);
    record.distributions = std::move(tasks_[i].distributions);
    if (const auto grammar = asked_[i]->pipeline.grammar()) {
      record.offered.resize(draft::fitting(*grammar, record.offered));
    }
  }
  if (drafter_->computes() && rounds > 0) {
    const double ms = milliseconds_between(start, env.now()) / static_cast<double>(rounds);
    round_ms_ = round_ms_ == 0.0 ? ms : round_ms_ + 0.1 * (ms - round_ms_);
  }
}

// How many of the guesses to compute.
void Speculation::choose(const sched::StepWork& work, const sched::StepCost& cost) {
  offers_.clear();
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const DraftRecord& record = asked_[i]->record;
    rates_[i].clear();
    double reached = 1.0;
    for (const draft::Token& token : record.offered) {
      const double of_all = acceptance_.rate(token.confidence, static_cast<double>(token.confidence), kPriorWeight);
      rates_[i].push_back(record.acceptance.rate(token.confidence, of_all, kOwnWeight));
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
}

Result<decode::Verdict> Speculation::next(Running& running, std::span<const float> logits, std::size_t index,
                                          bool drafted) {
  DraftRecord& record = running.record;
  std::optional<decode::DraftedToken> guess;
  if (drafted) {
    guess = decode::DraftedToken{.token = record.offered[index].token, .distribution = {}};
    if (index < record.distributions.size()) guess->distribution = record.distributions[index];
  }
  auto verdict = config_.rule->next(running.pipeline, logits, running.length(), guess);
  if (verdict && index < record.offered.size()) {
    const draft::Token& offered = record.offered[index];
    const bool right = offered.token == verdict->token;
    acceptance_.observe(offered.confidence, right);
    record.acceptance.observe(offered.confidence, right);
    mean_.observe(kNoConfidence, right);
    record.mean.observe(kNoConfidence, right);
  }
  return verdict;
}

void Speculation::ended(const Running& running) {
  if (drafter_ == nullptr) return;
  drafter_->ended(running.id, running.scope.salt,
                  std::span(running.tokens).subspan(static_cast<std::size_t>(running.prompt_tokens)));
}

}  // namespace millrace::engine
