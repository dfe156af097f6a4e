#pragma once

// For tests: speculation with a drafter that knows the answers.

#include "engine/speculation.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {

// A drafter that knows the answer to each prompt. A draft token is right with a probability of `right` percent, or by
// chance.
class Oracle final : public draft::Drafter {
 public:
  using Answers = std::map<std::vector<std::int32_t>, std::vector<std::int32_t>>;
  Oracle(Answers answers, unsigned right) : answers_(std::move(answers)), right_(right) {}
  // Makes the first further branch leave the draft at its first wrong token, with the right one. Other branches leave
  // it at a random position.
  void branch_where_wrong() { branch_where_wrong_ = true; }

  void draft(std::span<draft::Task> tasks) override {
    for (draft::Task& task : tasks) {
      const std::vector<std::int32_t> prompt(task.tokens.begin(), task.tokens.begin() + task.prompt_tokens);
      const auto& answer = answers_.at(prompt);
      const auto answered = static_cast<std::size_t>(std::ssize(task.tokens) - task.prompt_tokens);
      const auto truth = std::span(answer).subspan(std::min(answered, answer.size()));
      task.drafts = draft_token(truth, task.most);
      for (std::int64_t i = 0; i < task.further_branches; ++i) add_branch(task, truth);
    }
  }

 private:
  std::vector<draft::Token> draft_token(std::span<const std::int32_t> truth, std::int64_t n) {
    std::vector<draft::Token> tokens;
    for (std::int64_t j = 0; j < n; ++j) {
      std::int32_t token = j < std::ssize(truth) ? truth[static_cast<std::size_t>(j)] : 5;
      if (random_() % 100 >= right_) token = random_token();
      tokens.push_back({token, 0.9f});
    }
    return tokens;
  }

  void add_branch(draft::Task& task, std::span<const std::int32_t> truth) {
    draft::Branch branch{.from = static_cast<std::int64_t>(random_() % task.drafts.size()), .tokens = {}};
    if (branch_where_wrong_ && task.branches.empty()) {
      const auto right = [](const draft::Token& draft_token, std::int32_t token) { return draft_token.token == token; };
      branch.from = std::ranges::mismatch(task.drafts, truth, right).in1 - task.drafts.begin();
      if (branch.from == std::ssize(task.drafts)) return;
    }
    const auto from = std::min(static_cast<std::size_t>(branch.from), truth.size());
    branch.tokens = draft_token(truth.subspan(from), task.most - branch.from);
    if (branch_where_wrong_ && task.branches.empty() && from < truth.size()) branch.tokens[0].token = truth[from];
    const std::int32_t first = branch.tokens[0].token;
    if (first == task.drafts[static_cast<std::size_t>(branch.from)].token) return;
    const auto alike = [&](const draft::Branch& b) { return b.from == branch.from && b.tokens[0].token == first; };
    if (std::ranges::none_of(task.branches, alike)) task.branches.push_back(std::move(branch));
  }

  std::int32_t random_token() { return static_cast<std::int32_t>(3 + random_() % 44); }

  Answers answers_;
  unsigned right_;
  bool branch_where_wrong_ = false;
  std::mt19937 random_{7};
};

class SpeculationTest : public EngineTest {
 protected:
  using EngineTest::EngineTest;

  // Requests that run together, and the configuration of their engine.
  struct Mix {
    std::vector<Request> requests;
    Config config = {};
    std::int64_t budget = 512, kv_tokens = 4096;
    backend::KvFormat pages = {};
  };

  std::unique_ptr<Engine> engine_for(const Mix& mix) {
    Config config = mix.config;
    config.scheduling.max_batched_tokens = mix.budget;
    return make(config, mix.kv_tokens, mix.pages);
  }

  // Runs all requests to their end; checks integrity after each step. Returns outputs by request and choice.
  std::map<std::pair<RequestId, int>, Collected> run(Engine& engine, const Mix& mix) {
    for (const Request& request : mix.requests) engine.submit(request).or_throw();
    std::map<std::pair<RequestId, int>, Collected> answers;
    while (!engine.idle()) {
      for (Output& output : engine.step()) {
        Collected& r = answers[{output.request, output.choice}];
        if (output.token) r.tokens.push_back(*output.token);
        if (output.score) r.scores.push_back(*output.score);
        r.text += output.text;
        r.last = output;
      }
      engine.check_integrity();
    }
    return answers;
  }

  // Expects the same answers without speculation and with an Oracle that is right in `right` percent. Returns the
  // number of accepted draft tokens.
  std::int64_t expect_same(const Mix& mix, unsigned right, bool adaptive = false, int max_branches = 1) {
    const auto plain = engine_for(mix);
    const auto expected = run(*plain, mix);
    Oracle::Answers known;
    for (const auto& [key, answer] : expected) {
      if (key.second == 0) known[mix.requests[known_index(key.first)].tokens] = answer.tokens;
    }
    const auto engine = engine_for(mix);
    engine->speculate(std::make_unique<Oracle>(known, right),
                      SpeculationConfig{.tokens = 8, .adaptive = adaptive, .max_branches = max_branches});
    const auto answers = run(*engine, mix);
    accepted_branch_tokens_ = engine->counters().accepted_branch_tokens;
    EXPECT_EQ(answers.size(), expected.size());
    for (const auto& [key, answer] : expected) {
      const Collected& other = answers.at(key);
      EXPECT_EQ(other.tokens, answer.tokens) << key.first << "/" << key.second;
      EXPECT_EQ(other.text, answer.text);
      EXPECT_EQ(other.scores, answer.scores);
      EXPECT_EQ(other.last.finish, answer.last.finish);
      EXPECT_EQ(other.last.stats.output_tokens, answer.last.stats.output_tokens);
    }
    EXPECT_EQ(engine->cache().use().used, 0);
    EXPECT_LE(engine->counters().accepted_tokens, engine->counters().drafted_tokens);
    EXPECT_LE(engine->counters().accepted_branch_tokens, engine->counters().accepted_tokens);
    if (right == 100) {
      EXPECT_LT(engine->counters().steps, plain->counters().steps);
    }
    return engine->counters().accepted_tokens;
  }
  // Index in mix.requests of a request. Must be called in the order of submission.
  std::size_t known_index(RequestId id) {
    if (!order_.contains(id)) order_.emplace(id, order_.size());
    return order_.at(id);
  }

  std::int64_t accepted_branch_tokens_ = 0;  // of the last expect_same()

 private:
  std::map<RequestId, std::size_t> order_;
};

}  // namespace millrace::engine
