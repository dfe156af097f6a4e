#pragma once

#include <map>

#include "draft/drafter.h"
#include "simulator/fake_executor.h"
#include "simulator/random.h"

namespace millrace::simulator {

// How a scenario speculates.
struct Drafting {
  std::int64_t tokens = 0;  // limit of draft tokens of a sequence in a step; 0 = no speculation
  int right_percent = 0;    // percentage of draft tokens that are right
  bool computes = false;    // uses pages of the sequences, as a draft model does
  bool adaptive = true;
  int max_branches = 1;  // limit of branches of a draft tree
};

// A drafter for the fake model: samples the tokens that the model would give, and replaces some so that the wanted
// percentage is right. The executor need not outlive it. Engine thread only.
class FakeDrafter final : public draft::Drafter {
 public:
  FakeDrafter(const Drafting& drafting, const FakeExecutor& executor, std::uint64_t seed)
      : drafting_(drafting),
        block_tokens_(executor.block_tokens()),
        logits_(static_cast<std::size_t>(executor.vocab_size())),
        random_(seed) {}

  void draft(std::span<draft::Task> tasks) override;
  void ended(std::uint64_t sequence, std::string_view, std::span<const std::int32_t>) override {
    texts_.erase(sequence);
  }
  bool computes() const noexcept override { return drafting_.computes; }

 private:
  struct Text {
    FakeText text;
    std::size_t tokens = 0;
  };
  std::int32_t draft_token(std::int32_t sampled);
  void add_branch(draft::Task& task, FakeText text);
  void extend(const draft::Task& task, FakeText text, decode::LogitsPipeline pipeline,
              std::vector<draft::Token>& tokens, std::int64_t from);

  Drafting drafting_;
  std::int64_t block_tokens_;
  std::vector<float> logits_;
  Random random_;
  std::map<std::uint64_t, Text> texts_;
};

}  // namespace millrace::simulator
