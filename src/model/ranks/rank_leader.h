#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "kv/page_ranks.h"
#include "model/batch_input.h"
#include "model/ranks/answer_queue.h"
#include "model/ranks/rank_adapters.h"
#include "model/ranks/rank_answers.h"
#include "model/ranks/rank_commands.h"
#include "model/ranks/rank_time.h"

namespace millrace::model {

// Rank 0's way to the other ranks of a shared model, which follow its commands (rank_follower.h). Each function returns
// when the command is on its way, unless it says otherwise. Throws LoadError (kUnavailable) naming a rank that has
// ended; after that all throw. One thread, but for foresee().
class RankLeader {
 public:
  explicit RankLeader(std::shared_ptr<comm::Communicator> communicator)
      : communicator_(std::move(communicator)), answers_(*communicator_) {}
  ~RankLeader();  // tells them that it is over
  RankLeader(const RankLeader&) = delete;
  RankLeader& operator=(const RankLeader&) = delete;

  int ranks() const noexcept { return communicator_->ranks(); }
  void send(const RankCommand& command);
  // The same for what has no other way to fail: false where a rank has ended, now or before. Then nothing is sent until
  // restore(), and all steps fail.
  bool try_send(const RankCommand& command) noexcept;
  // Sends, and waits for an answer of each rank but 0, in their order. False as try_send().
  bool try_ask(const RankCommand& command, std::vector<std::vector<std::byte>>& answers) noexcept;
  bool intact() const noexcept { return !lost_; }
  void lose(const Error& why);  // a step has failed
  const std::optional<Error>& lost() const noexcept { return lost_; }
  // The others have been started anew: they get the stores that there are, empty, and what else they had been told. In
  // place of an error that send() threw or try_send() kept. Throws LoadError.
  void restore();
  // The others get the adapter, if they have it not; waits for all. Steps do so for adapters that they find. Throws
  // LoadError as AnnouncedAdapters::share() too, after which the others go on.
  void share(const Adapter& adapter);
  // The same for requests that wait for it: kUnavailable where it is the adapter that a rank cannot read. A rank that
  // has ended is nothing that is the adapter's: the next step fails, and then it is shared again.
  Result<void> try_share(const Adapter& adapter);
  // Rank 0 begins to read such an adapter: the others begin with the next step, so that share() need not wait. Any
  // thread; sends nothing itself.
  void foresee(const std::string& path, const AdapterOptions& options) { adapters_.foresee(path, options); }
  // A step over the store of that number. `state_ranks`: which ranks have the states that its hook wants, each of one
  // layer. Returns the number of the step.
  std::uint64_t step(const BatchInput& input, std::uint32_t store, std::span<const int> state_ranks = {});
  // Whether the newest step wants the key of this rank's residual, RankReport::residual_key.
  bool checks_residual() const noexcept { return steps_.back().checks_residual; }
  // This rank has computed its part of the newest step, with that key of its residual, or 0.
  void computed(std::uint64_t residual_key);
  // What a rank has computed of a step for rank 0: states of `state_ranks`, then, of the first rank of the last of
  // several stages, logits and blocks of what goes to the sink. `index`: among the steps that are not finished, the
  // oldest is 0.
  std::vector<std::byte> next_rows(std::size_t index, int rank);
  // The same of the last stage. Throws kUnavailable where these are not so many bytes.
  std::vector<std::byte> next_result(std::size_t index, std::size_t bytes);
  // Waits until the others have computed that step, which is finished then. Throws kUnavailable, naming the rank, also
  // where one of them did something else, or has other rows than this rank or damaged weights (param: kDamage).
  // `timer`: since this rank is at it again. Returns what they report of experts and overflows, and the fewest rounds
  // over weights.
  RankReport finish_step(std::size_t index, const RankTimer& timer);
  RankTimer timer() const noexcept { return RankTimer(*communicator_); }
  // What the step took that was finished last, by rank.
  const std::vector<RankTime>& times() const noexcept { return times_; }

  // Makes the others' stores, in the format of pages of the whole model. `made`: what came of this rank's. Waits for
  // all. kResourceExhausted names the ranks whose memory is too short.
  Result<std::shared_ptr<kv::PageRanks>> make_store(RankStore store, const RankStoreMade& made);
  void end_store(std::uint32_t store) noexcept;
  void set_int8x2(std::vector<std::string> weights);
  // Ends the statistics of all; what the others counted, a rank's after the other. Waits for all.
  std::vector<RankCounts> take_statistics();

 private:
  static constexpr std::chrono::seconds kTimeout{30};  // for room in the ring of commands, and for most answers
  struct Step {
    std::uint64_t number = 0, commands_key = 0;  // the key of all commands up to that of the step
    RankTimer timer;                             // since it began
    bool checks_residual = false;
    std::uint64_t residual_key = 0;  // of this rank
    RankTime own = {};               // of this rank
    comm::Communicator::Timeout timeout{};
    std::vector<AnswerQueue::Ticket> reports = {};
  };
  std::vector<std::byte> bytes_of(const RankCommand& command) const;
  void send_bytes(std::span<const std::byte> bytes);
  std::vector<std::vector<std::byte>> ask(const RankCommand& command, comm::Communicator::Timeout timeout);
  // Which rank answers with the results of steps; 0: none.
  int result_rank() const noexcept { return (communicator_->stages() - 1) * communicator_->stage_ranks(); }
  template <typename Answer>
  std::vector<Answer> ask_for(const RankCommand& command, comm::Communicator::Timeout timeout = kTimeout);
  [[noreturn]] void refuse(int rank, std::string_view what);
  // Takes the key of commands off an answer, which must be this one.
  void check_key(int rank, std::vector<std::byte>& answer, std::uint64_t expected);

  std::shared_ptr<comm::Communicator> communicator_;
  AnswerQueue answers_;
  std::uint64_t commands_key_ = 0;  // of all that the others have been sent since they were started
  std::map<std::uint32_t, RankStore> stores_;
  std::uint32_t next_store_ = 0;
  std::uint64_t next_step_ = 0;
  std::deque<Step> steps_;  // that are not finished
  std::vector<RankTime> times_;
  std::vector<std::string> int8x2_;
  AnnouncedAdapters adapters_;
  std::optional<Error> lost_;  // why ranks are of no more use
};

}  // namespace millrace::model
