#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "draft/drafter.h"

namespace millrace::bench {

// Measures speed-up against acceptance rate: it lets another drafter compute, for its real cost, and then replaces the
// draft tokens. Each one is the right token with a fixed probability, and a wrong one otherwise.
class RiggedDrafter final : public draft::Drafter {
 public:
  // `answer` has the tokens of the answer, which must be known: the same for all sequences. `acceptance`, in [0, 1], is
  // the probability that a draft token is right.
  RiggedDrafter(std::unique_ptr<draft::Drafter> drafter, std::vector<std::int32_t> answer, double acceptance)
      : drafter_(std::move(drafter)), answer_(std::move(answer)), acceptance_(acceptance) {}

  void draft(std::span<draft::Task> tasks) override;
  void ended(std::uint64_t sequence, std::string_view scope, std::span<const std::int32_t> tokens) override {
    drafter_->ended(sequence, scope, tokens);
  }
  bool computes() const noexcept override { return drafter_->computes(); }
  kv::PageListener* listener() noexcept override { return drafter_->listener(); }
  model::HiddenStateHook* hook() noexcept override { return drafter_->hook(); }

 private:
  std::unique_ptr<draft::Drafter> drafter_;
  std::vector<std::int32_t> answer_;
  double acceptance_;
  std::mt19937_64 random_{1};
};

}  // namespace millrace::bench
