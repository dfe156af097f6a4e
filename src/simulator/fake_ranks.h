#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "model/ranks/rank_follower.h"
#include "model/ranks/rank_leader.h"
#include "simulator/coverage.h"
#include "simulator/fake_part.h"
#include "simulator/rank_network.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// Rank 0's share of the fake model, and all the others with it: the leader and the followers that production has, over
// a network with faults. What model::Transformer and runtime::restart_ranks() do for rank 0 is done here. One thread.
class FakeRanks {
 public:
  struct Config {
    RankShape shape;
    FakeModel model;
    // Followers read adapters by this.
    model::FollowedAdapters::Read read = {};
    MemoryEnv* env = nullptr;
    RankFaults* faults = nullptr;
    Verdict* verdict = nullptr;
    Coverage* coverage = nullptr;
  };

  explicit FakeRanks(Config config);
  ~FakeRanks();
  FakeRanks(const FakeRanks&) = delete;
  FakeRanks& operator=(const FakeRanks&) = delete;

  // Makes the pages of all; `device` is rank 0's and outlives this. Where ranks end meanwhile the process ends, and is
  // started again at once.
  void begin_with(FakeDevice& device);
  int stages() const noexcept { return config_.shape.stages; }

  // Compute a step as model::Transformer does. Throw LoadError.
  void begin(const model::BatchInput& input);
  FakeResults finish(const model::BatchInput& input);  // of the oldest step
  Result<void> share(const model::Adapter& adapter) { return leader_->try_share(adapter); }
  // All others are started anew. Throws LoadError where that cannot be.
  void recover();

  // T1 of docs/simulator.md, between two steps of the engine.
  void check();
  // T2: ranks have been lost, for that reason.
  void check_loss(const Error& why);

 private:
  struct Follower;
  struct Step {
    std::uint64_t number = 0, history = 0;  // of the commands up to it
    std::vector<std::int64_t> rows = {};
    std::vector<std::uint64_t> states = {};  // of one stage alone
  };
  void start_followers();
  void restart_followers();
  void ask_for_pages();
  void spoil(bool windowed, kv::BlockId page, std::int64_t slot);
  void compute(const model::BatchInput& input, Step& step);
  FakeResults take_results(const model::BatchInput& input, const Step& step);
  void check_histories(const Step& step);
  void check_pages();
  void count_rounding_of(const model::BatchInput& input);
  void end_statistics();
  template <typename Work>
  void or_lose(const Work& work);

  Config config_;
  std::vector<FakeHeads> heads_;  // by rank
  RankNetwork network_;
  std::vector<std::unique_ptr<Follower>> followers_;  // of rank 1 and so on
  std::shared_ptr<comm::Communicator> end_;           // of rank 0
  std::unique_ptr<model::RankLeader> leader_;
  FakeDevice* device_ = nullptr;
  std::uint32_t store_ = 0;         // the number by which the others know its pages
  std::deque<Step> steps_;          // that have begun
  std::int64_t counted_rows_ = -1;  // of steps since statistics began; -1: they have ended
};

}  // namespace millrace::simulator
