#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kv/paged_cache.h"
#include "sched/scheduler.h"

namespace millrace::sched {

// Pages without contents.
class NoPages final : public kv::PageDevice {
 public:
  explicit NoPages(bool windowed = false) : windowed_(windowed ? std::make_unique<NoPages>() : nullptr) {}
  kv::PageDevice* windowed() noexcept override { return windowed_.get(); }
  std::size_t page_bytes() const noexcept override { return 8; }
  void copy(kv::BlockId, kv::BlockId) override {}
  void read(kv::BlockId, std::span<std::byte> out) const override { std::fill(out.begin(), out.end(), std::byte{0}); }
  void write(kv::BlockId, std::span<const std::byte>) override {}

 private:
  std::unique_ptr<NoPages> windowed_;
};

struct TestRequest {
  SequenceId id = 0;
  std::int64_t prompt = 16, answer = 4;
  std::int64_t predicted = 0;   // 0: as long as it will be
  std::int64_t max_answer = 0;  // 0: as long as it will be
  int priority = 0;
  std::uint32_t tenant = 0;
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;
  std::optional<double> deadline_ms;  // from now
  bool feeds = false;
};

struct WorldConfig {
  Config scheduling;
  std::string policy = "decode-first";
  PolicyOptions options;
  std::span<const AdmissionResourceKind> resources = all_resources();
  std::int64_t block_tokens = 16;
  std::int32_t pages = 64;
  std::int64_t window = 0;  // of some layers; 0: none has one
  std::int32_t window_pages = 0;
  bool swap = false;
  StepCost cost{.fixed_ms = 0.0, .weights_ms = 1.0, .token_ms = 0.1, .kv_token_ms = 0.0, .sample_ms = 0.0};
};

// An engine without a model: does with a plan what the engine does, on virtual time that StepCost tells.
class World {
 public:
  explicit World(const WorldConfig& config)
      : config_(config),
        device_(config.window > 0),
        cache_({.block_tokens = config.block_tokens,
                .pages = config.pages,
                .swap_bytes = config.swap ? std::size_t{1} << 16 : 0,
                .window = config.window,
                .window_pages = config.window_pages},
               device_, nullptr),
        scheduler_(config.scheduling, make_policy(config.policy, config.options).or_throw(), cache_, config.resources) {
  }

  PolicyView view() const { return {.now = now_, .cost = config_.cost}; }
  Scheduler& scheduler() { return scheduler_; }
  // Pages that no sequence here knows of.
  bool hold(std::int64_t tokens) { return elsewhere_.reserve(tokens); }
  kv::PagedCache& cache() { return cache_; }
  const WorldConfig& config() const { return config_; }
  double now_ms() const { return milliseconds_between(TimePoint{}, now_); }
  void advance(double ms) {
    now_ += std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double, std::milli>(ms));
  }

  Sequence& submit(const TestRequest& request) {
    auto sequence = std::make_unique<Sequence>(cache_.make_table());
    sequence->id = request.id;
    sequence->tokens.assign(static_cast<std::size_t>(request.prompt), static_cast<std::int32_t>(request.id));
    sequence->prompt_tokens = request.prompt;
    sequence->max_total = request.prompt + (request.max_answer > 0 ? request.max_answer : request.answer);
    sequence->arrival = now_;
    sequence->priority = request.priority;
    sequence->tenant = request.tenant;
    sequence->ttft_target_ms = request.ttft_target_ms;
    sequence->tpot_target_ms = request.tpot_target_ms;
    if (request.deadline_ms)
      sequence->deadline = now_ + std::chrono::milliseconds(static_cast<int>(*request.deadline_ms));
    feeds_[request.id] = request.feeds;
    sequence->predicted_output = request.predicted > 0 ? request.predicted : request.answer;
    Sequence& result = *sequence;
    answers_[request.id] = request.answer;
    live_[request.id] = std::move(sequence);
    scheduler_.add(result, view());
    return result;
  }
  void cancel(SequenceId id) {
    Sequence& sequence = *live_.at(id);
    if (sequence.in_flight > 0) {
      sequence.paused = true;  // no step takes it any more
      retiring_.insert(id);
    } else {
      finish(sequence);
    }
  }

  // Plans and launches a step; nothing is launched where there is nothing to do.
  StepPlan launch() {
    StepPlan plan = scheduler_.plan(view());
    apply(plan);
    return plan;
  }
  void apply(StepPlan plan) {
    for (Sequence* sequence : plan.preempted) give_up_pages(*sequence);
    for (const Admission& admission : plan.admitted) take_pages(admission);
    for (StepRow& row : plan.rows) {
      Sequence& sequence = *row.sequence;
      row.feeds = feeds_.at(sequence.id);
      ASSERT_EQ(row.first, sequence.scheduled);
      ASSERT_LE(row.first + row.n_tokens, sequence.planned_length());
      ASSERT_TRUE(cache_.reserve(sequence.blocks, sequence.scheduled, sequence.scheduled + row.n_tokens))
          << "the plan has rows without pages";
    }
    scheduler_.launched(plan, view());
    for (const Rejection& rejection : plan.rejected) {
      rejected.emplace_back(rejection.sequence->id, rejection.error.message);
      finish(*rejection.sequence);
    }
    if (!plan.empty()) flights_.push_back(std::move(plan));
  }
  // The oldest step in flight ends.
  void commit() {
    const StepPlan plan = std::move(flights_.front());
    flights_.pop_front();
    advance(config_.cost.milliseconds(work_of(plan)));
    scheduler_.committed(plan, view());
    for (const StepRow& row : plan.rows) {
      Sequence& sequence = *row.sequence;
      const bool ended = sequence.output_tokens() >= answers_.at(sequence.id);  // before the last steps that it is in
      if (row.samples() && !ended) sample(sequence);
      if (retiring_.count(sequence.id) > 0 && sequence.in_flight == 0) finish(sequence);
    }
    std::vector<Sequence*> ended;
    for (auto& [id, sequence] : live_) {
      if (sequence->output_tokens() >= answers_.at(id) && sequence->in_flight == 0) ended.push_back(sequence.get());
    }
    for (Sequence* sequence : ended) finish(*sequence);
    for (Sequence* sequence : scheduler_.running()) sequence->blocks.release_behind(sequence->computed);
  }
  StepPlan step() {
    StepPlan plan = launch();
    if (!flights_.empty()) commit();
    return plan;
  }

  std::size_t live() const { return live_.size(); }
  std::size_t flights() const { return flights_.size(); }
  Sequence& at(SequenceId id) { return *live_.at(id); }
  bool has(SequenceId id) const { return live_.count(id) > 0; }
  const std::map<SequenceId, std::unique_ptr<Sequence>>& all() const { return live_; }

  // Everything a plan could have changed.
  std::string dump() {
    std::string text = fmt::format("{} {} {} {}|", now_ms(), cache_.available(), cache_.counters().hit_tokens,
                                   cache_.counters().evicted_pages);
    for (const Sequence* s : scheduler_.waiting()) text += fmt::format(" {}", s->id);
    text += " |";
    for (const Sequence* s : scheduler_.running()) text += fmt::format(" {}", s->id);
    for (const auto& [id, s] : live_) {
      const Rank rank = scheduler_.policy().rank(*s, view());
      text += fmt::format("\n{} {} {} {} {} {} {} {} {} {} {} {} {} {}", id, s->tokens.size(), s->computed,
                          s->scheduled, s->in_flight, s->preemptions, s->bypassed, s->starved_steps, s->attached_pages,
                          static_cast<int>(s->state), s->blocks.blocks().size(), s->cached_hint, rank.group, rank.key);
    }
    return text;
  }

  std::vector<SequenceId> finished;
  std::vector<std::pair<SequenceId, std::string>> rejected;

 private:
  void give_up_pages(Sequence& sequence) {
    if (config_.swap) sequence.swapped = cache_.swap_out(sequence.blocks, sequence.computed);
    if (sequence.swapped) return;
    sequence.blocks.truncate(0);
    sequence.computed = sequence.scheduled = 0;
  }
  void take_pages(const Admission& admission) {
    Sequence& sequence = *admission.sequence;
    if (sequence.swapped) {
      ASSERT_TRUE(cache_.swap_in(*sequence.swapped, sequence.blocks));
      sequence.swapped.reset();
    } else if (sequence.blocks.blocks().empty()) {
      sequence.computed = sequence.scheduled = cache_.attach(sequence.blocks, admission.match, now_);
    }
  }
  void sample(Sequence& sequence) {
    sequence.tokens.push_back(1);
    sequence.last_token = now_;
    if (!sequence.first_token) sequence.first_token = now_;
    if (sequence.output_tokens() >= sequence.predicted_output) {
      sequence.predicted_output = std::min(2 * sequence.predicted_output, sequence.max_total - sequence.prompt_tokens);
    }
  }
  void finish(Sequence& sequence) {
    const SequenceId id = sequence.id;
    scheduler_.remove(sequence);
    finished.push_back(id);
    retiring_.erase(id);
    sequence.blocks.truncate(0);
    sequence.swapped.reset();
    gone_.push_back(std::move(live_.at(id)));
    live_.erase(id);
  }

  WorldConfig config_;
  NoPages device_;
  kv::PagedCache cache_;
  kv::BlockTable elsewhere_ = cache_.make_table();
  Scheduler scheduler_;
  TimePoint now_{};
  std::map<SequenceId, std::unique_ptr<Sequence>> live_;
  std::vector<std::unique_ptr<Sequence>> gone_;  // plans already returned point to them
  std::map<SequenceId, std::int64_t> answers_;
  std::map<SequenceId, bool> feeds_;
  std::set<SequenceId> retiring_;
  std::deque<StepPlan> flights_;
};

// "1:32 2:1 +2 -3 x4": rows as id:tokens, then who was admitted, preempted and refused.
inline std::string to_text(const StepPlan& plan) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  for (const StepRow& row : plan.rows) add(fmt::format("{}:{}", row.sequence->id, row.n_tokens));
  for (const Admission& admission : plan.admitted) add(fmt::format("+{}", admission.sequence->id));
  for (const Sequence* sequence : plan.preempted) add(fmt::format("-{}", sequence->id));
  for (const Rejection& rejection : plan.rejected) add(fmt::format("x{}", rejection.sequence->id));
  return text;
}

}  // namespace millrace::sched
