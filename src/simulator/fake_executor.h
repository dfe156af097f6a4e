#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/executor.h"
#include "engine/fed_tokens.h"
#include "engine/request.h"
#include "model/adapters/adapter_store.h"
#include "sched/step_cost.h"
#include "simulator/fake_device.h"
#include "simulator/fake_ranks.h"
#include "simulator/fake_step.h"

namespace millrace::simulator {

// The work of a step that its simulated time depends on.
sched::StepWork work_of(const engine::StepInput& input) noexcept;

// An executor without a model: logits are a hash of all stamps that a row reads through its block table, so any wrong,
// stale or foreign page changes the tokens; so does a window page within a row's window that does not hold the same.
// Final states are a hash of kStateSize numbers. Steps run in wait(), or begin in launch() where ranks share the model
// in stages; on_step advances the simulation's clock by their time.
class FakeExecutor final : public engine::Executor {
 public:
  static constexpr std::int64_t kStateSize = simulator::kStateSize;
  struct Config {
    std::int64_t vocab_size = 61, max_length = 4096, block_tokens = 16;
    std::int32_t pages = 256;
    int depth = 1;
    bool feeds = true;  // where depth is more than 1, Executor::feeds(); else it is a pipeline of so many stages
    std::uint64_t companion_key = 0;  // see FakeDevice
    std::int64_t window = 0;          // of a layer beside one without; 0: there is none
    std::int32_t window_pages = 0;
    RankShape ranks = {};  // where there are several stages, `depth` is their number
  };
  // Called in wait(): advances the clock, and may fail the device or spoil logits [rows, V], which are those of
  // logit_rows and then those of sampled_rows. The pages that a failed step or a row with NaN wrote are spoiled too.
  using OnStep = std::function<Result<void>(const engine::StepInput& input, std::span<float> logits)>;

  // `ranks`: of the shape in `config`; null: there is one rank.
  FakeExecutor(const Config& config, OnStep on_step, std::unique_ptr<FakeRanks> ranks = nullptr);

  std::int64_t vocab_size() const noexcept override { return config_.vocab_size; }
  std::int64_t max_length() const noexcept override { return config_.max_length; }
  std::int64_t block_tokens() const noexcept override { return config_.block_tokens; }
  std::int32_t pages() const noexcept override { return config_.pages; }
  std::int64_t window() const noexcept override { return config_.window; }
  std::int32_t window_pages() const noexcept override { return config_.window_pages; }
  FakeDevice& device() noexcept override { return device_; }
  // The adapters that rows of steps may have; null, and at first: none.
  void set_adapters(std::shared_ptr<model::AdapterStore> adapters) { adapters_ = std::move(adapters); }
  std::shared_ptr<const model::Adapter> adapter(const engine::AdapterUse& use) const override;
  std::unique_ptr<model::AdapterClaim> claim(const std::vector<engine::AdapterUse>& adapters) const override;
  int depth() const noexcept override { return config_.depth; }
  bool feeds() const noexcept override { return config_.depth > 1 && config_.feeds; }
  int in_flight() const noexcept { return static_cast<int>(launched_.size()); }
  Result<void> share(const model::Adapter& adapter) override;
  void launch(engine::StepInput input) override;
  Result<engine::StepResult> wait() override;
  Result<void> recover() override;
  FakeRanks* ranks() noexcept { return ranks_.get(); }  // null: there is one
  // Steps that ranks have failed, since one has been computed. A device that cannot be recovered counts as many.
  int losses() const noexcept { return losses_; }

 private:
  struct Launched {
    explicit Launched(const engine::StepInput& of) : step(of) {}  // with pages as they are now
    engine::StepInput step;
    model::BatchInput batch = {};
    std::optional<Error> failure = {};  // it has not begun, or its ranks are gone
  };
  void check_written_by_one(const engine::StepInput& input, bool windowed);
  void make_batch(Launched& launched) const;
  FakeResults compute(Launched& launched);
  Error fail(const Error& why);
  void spoil(const engine::StepInput& input, std::size_t sequence, std::int64_t first);
  void spoil_broken_rows(const engine::StepInput& input, std::span<const std::int64_t> rows,
                         std::span<const float> logits);
  void gather(const engine::StepInput& input, const FakeResults& results, std::span<const std::int64_t> scored);
  void feed(const engine::StepInput& input, FakeResults& results, engine::StepResult& result);

  Config config_;
  OnStep on_step_;
  std::unique_ptr<FakeRanks> ranks_;  // outlives the device
  FakeDevice device_;
  FakeHeads all_heads_;
  std::shared_ptr<model::AdapterStore> adapters_;
  std::deque<std::unique_ptr<Launched>> launched_;
  engine::FedTokens fed_;
  int losses_ = 0;
  std::vector<float> logits_;         // of logit_rows, then of sampled_rows
  std::vector<std::int32_t> writer_;  // by page; scratch
};

}  // namespace millrace::simulator
