#include "engine/speculation.h"

#include <algorithm>
#include <utility>

#include "engine/running.h"

namespace millrace::engine {
namespace {

constexpr double kOwnWeight = 8.0;    // tokens of an answer that its own record needs to outweigh that of all
constexpr double kPriorWeight = 4.0;  // and the record of all to outweigh the drafter's opinion
constexpr double kNotWorthLooking = 0.02;

}  // namespace

Speculation::Speculation(std::unique_ptr<draft::Drafter> drafter, const SpeculationConfig& config)
    : drafter_(std::move(drafter)), config_(config) {}

void Speculation::draft(std::span<Running* const> decoding, const sched::StepWork& work, const sched::StepCost& cost) {
  tasks_.clear();
  std::vector<Running*> asked;
  for (Running* running : decoding) {
    running->drafts.clear();
    running->record.offered.clear();
    const std::int64_t most = std::min({config_.tokens, running->record.most, running->most_drafts()});
    if (most <= 0) continue;
    asked.push_back(running);
    tasks_.push_back({.sequence = running->id,
                      .scope = running->scope.salt,
                      .tokens = running->tokens,
                      .prompt_tokens = running->prompt_tokens,
                      .most = most,
                      .pipeline = &running->pipeline,
                      .pages = running->blocks.blocks(),
                      .drafts = {}});
  }
  if (asked.empty()) return;
  drafter_->draft(tasks_);
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->record.offered = std::move(tasks_[i].drafts);
  choose(asked, work, cost);
}

void Speculation::choose(std::span<Running* const> decoding, const sched::StepWork& work, const sched::StepCost& cost) {
  offers_.clear();
  rates_.resize(std::max(rates_.size(), decoding.size()));
  for (std::size_t i = 0; i < decoding.size(); ++i) {
    const DraftRecord& record = decoding[i]->record;
    rates_[i].clear();
    double reached = 1.0;
    for (const draft::Token& token : record.offered) {
      const double of_all = acceptance_.rate(token.confidence, static_cast<double>(token.confidence), kPriorWeight);
      rates_[i].push_back(record.acceptance.rate(token.confidence, of_all, kOwnWeight));
      reached *= rates_[i].back();
      if (reached < kNotWorthLooking && config_.adaptive) break;
    }
    offers_.push_back({.acceptance = rates_[i],
                       .position = decoding[i]->length(),
                       .length = static_cast<std::int64_t>(record.offered.size())});
  }
  if (config_.adaptive) sched::choose_draft_lengths(offers_, work, cost);
  for (std::size_t i = 0; i < decoding.size(); ++i) {
    for (std::int64_t j = 0; j < offers_[i].length; ++j) {
      decoding[i]->drafts.push_back(decoding[i]->record.offered[static_cast<std::size_t>(j)].token);
    }
  }
}

void Speculation::drawn(Running& running, std::size_t index, std::int32_t token) {
  DraftRecord& record = running.record;
  if (index >= record.offered.size()) return;
  const draft::Token& guess = record.offered[index];
  acceptance_.observe(guess.confidence, guess.token == token);
  record.acceptance.observe(guess.confidence, guess.token == token);
}

void Speculation::ended(const Running& running) {
  drafter_->ended(running.id, running.scope.salt,
                  std::span(running.tokens).subspan(static_cast<std::size_t>(running.prompt_tokens)));
}

}  // namespace millrace::engine
