#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/executor.h"
#include "engine/fed_tokens.h"
#include "engine/request.h"
#include "model/adapters/adapter_store.h"
#include "sched/step_cost.h"

namespace millrace::simulator {

// Pages of stamps instead of keys and values: a slot holds a hash of its token and position. A slot that was never
// written, or was freed since, holds another value than any sequence expects. Where there is a window, window pages
// hold the stamps once more.
class FakeDevice final : public kv::PageDevice {
 public:
  // A page's companion is a hash of its stamps and `companion_key`; without one where that is 0.
  FakeDevice(std::int32_t pages, std::int64_t block_tokens, std::uint64_t companion_key = 0,
             std::int32_t window_pages = 0);
  FakeDevice* windowed() noexcept override { return windowed_.get(); }
  std::size_t page_bytes() const noexcept override { return static_cast<std::size_t>(block_tokens_) * sizeof(Stamp); }
  void copy(kv::BlockId from, kv::BlockId to) override;
  void read(kv::BlockId page, std::span<std::byte> out) const override;
  void write(kv::BlockId page, std::span<const std::byte> in) override;
  kv::PageCompanion companion() const noexcept override;
  void read_companion(kv::BlockId page, std::span<std::byte> out) const override;
  void write_companion(kv::BlockId page, std::span<const std::byte> in) override;  // CHECKs that it is the page's
  void freed(kv::BlockId id) override;                                             // overwrites the page's stamps
  std::pmr::memory_resource& host_memory() noexcept override { return host_memory_; }
  // Allocations of host memory fail whenever `when` returns true.
  void fail_host_memory(std::function<bool()> when) { host_memory_.fails = std::move(when); }

  using Stamp = std::uint64_t;
  Stamp& at(std::span<const kv::BlockId> pages, std::int64_t position);
  std::int64_t block_tokens() const noexcept { return block_tokens_; }
  std::int32_t pages() const noexcept { return pages_; }

 private:
  struct HostMemory final : std::pmr::memory_resource {
    std::function<bool()> fails;
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  };
  Stamp* page(kv::BlockId id) { return stamps_.data() + static_cast<std::int64_t>(id) * block_tokens_; }
  std::int32_t pages_;
  std::int64_t block_tokens_;
  std::uint64_t companion_key_;
  std::vector<Stamp> stamps_;
  HostMemory host_memory_;
  std::unique_ptr<FakeDevice> windowed_;
};

// What adapters change of all stamps of a sequence: a hash of their contents and scales; 0: there are none.
std::uint64_t adapter_stamp(std::span<const engine::AdapterUse> adapters) noexcept;

// The fake model's logits of a text, computed token by token without pages: the reference for every answer of a
// simulation.
class FakeText {
 public:
  explicit FakeText(std::uint64_t adapters = 0) : adapters_(adapters) {}  // adapter_stamp()
  void append(std::int32_t token) noexcept;
  void logits(std::span<float> logits) const noexcept;

 private:
  std::uint64_t adapters_, state_ = 0;
  std::int64_t length_ = 0;
};
std::vector<float> fake_logits(std::span<const std::int32_t> tokens, std::int64_t vocab_size);

// The work of a step that its simulated time depends on.
sched::StepWork work_of(const engine::StepInput& input) noexcept;

// An executor without a model: logits are a hash of all stamps that a row reads through its block table, so any wrong,
// stale or foreign page changes the tokens; so does a window page within a row's window that does not hold the same.
// Final states are a hash of kStateSize numbers. Steps run in wait(); on_step advances the simulation's clock by their
// time.
class FakeExecutor final : public engine::Executor {
 public:
  static constexpr std::int64_t kStateSize = 8;
  struct Config {
    std::int64_t vocab_size = 61, max_length = 4096, block_tokens = 16;
    std::int32_t pages = 256;
    int depth = 1;
    bool feeds = true;  // where depth is more than 1, Executor::feeds(); else it is a pipeline of so many stages
    std::uint64_t companion_key = 0;  // see FakeDevice
    std::int64_t window = 0;          // of a layer beside one without; 0: there is none
    std::int32_t window_pages = 0;
  };
  // Called in wait(): advances the clock, and may fail the device or spoil logits [rows, V], which are those of
  // logit_rows and then those of sampled_rows. The pages that a failed step or a row with NaN wrote are spoiled too.
  using OnStep = std::function<Result<void>(const engine::StepInput& input, std::span<float> logits)>;

  FakeExecutor(const Config& config, OnStep on_step);

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
  void launch(engine::StepInput input) override;
  Result<engine::StepResult> wait() override;

 private:
  void check_written_by_one(const engine::StepInput& input, bool windowed);
  std::int64_t first_seen(std::int64_t position) const noexcept;
  void spoil(const engine::StepInput& input, std::size_t sequence, std::int64_t first);
  void hash_rows(const engine::StepInput& input, std::span<const std::int64_t> chosen, std::size_t columns,
                 std::span<float> values);
  std::uint64_t stamp_of_adapters(const engine::StepInput::Adapters& adapters) const;
  void write_stamps(const engine::StepInput& input);
  void spoil_broken_rows(const engine::StepInput& input, std::span<const std::int64_t> rows,
                         std::span<const float> logits);
  void feed(const engine::StepInput& input, std::span<float> sampled, engine::StepResult& result);

  Config config_;
  OnStep on_step_;
  FakeDevice device_;
  std::shared_ptr<model::AdapterStore> adapters_;
  std::deque<engine::StepInput> launched_;
  engine::FedTokens fed_;
  std::vector<float> logits_, sunk_;
  std::vector<std::int32_t> writer_;  // by page; scratch
};

}  // namespace millrace::simulator
