#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "kv/page_ranks.h"
#include "model/batch_input.h"
#include "model/ranks/rank_adapters.h"
#include "model/ranks/rank_commands.h"

namespace millrace::model {

// Rank 0's way to the other ranks of a shared model, which follow its commands (rank_follower.h). Each function returns
// when the command is on its way, unless it says otherwise. Throws LoadError (kUnavailable) naming a rank that has
// ended; after that all throw. One thread, but for foresee().
class RankLeader {
 public:
  RankLeader(std::shared_ptr<comm::Communicator> communicator, backend::Backend& backend)
      : communicator_(std::move(communicator)), backend_(backend) {}
  ~RankLeader();  // tells them that it is over
  RankLeader(const RankLeader&) = delete;
  RankLeader& operator=(const RankLeader&) = delete;

  int ranks() const noexcept { return communicator_->ranks(); }
  void send(const RankCommand& command);
  // The same for what has no other way to fail: false where a rank has ended, now or before. Then nothing is sent until
  // restore(), and all steps fail.
  bool try_send(const RankCommand& command) noexcept;
  // Gathers what the ranks have of a page; false as try_send().
  bool try_gather(std::span<const std::size_t> sizes, std::span<const std::byte> own,
                  std::vector<std::byte>& all) noexcept;
  bool intact() const noexcept { return !lost_; }
  void lose(const Error& why) { lost_ = why; }  // a step has failed
  // The others have been started anew: they get the stores that there are, empty, and what else they had been told. In
  // place of an error that send() threw or try_send() kept. Throws LoadError.
  void restore();
  // The others get the adapter, if they have it not; waits for all. Steps do so for adapters that they find. Throws
  // LoadError as AnnouncedAdapters::share() too, after which the others go on.
  void share(const Adapter& adapter);
  // Rank 0 begins to read such an adapter: the others begin with the next step, so that share() need not wait. Any
  // thread; sends nothing itself.
  void foresee(const std::string& path, const AdapterOptions& options) { adapters_.foresee(path, options); }
  // A step over the store of that number.
  void step(const BatchInput& input, std::uint32_t store);

  // Makes the others' stores, in the format of pages of the whole model. `made`: whether this rank's is there, with so
  // many bytes a page. Waits for all. kResourceExhausted names the ranks whose memory is too short.
  struct StoreBytes {  // of a rank
    std::uint64_t is_made = 0, page = 0, window_page = 0;
  };
  Result<std::shared_ptr<kv::PageRanks>> make_store(RankStore store, const StoreBytes& made);
  void end_store(std::uint32_t store) noexcept;
  void set_int8x2(std::vector<std::string> weights);

 private:
  std::shared_ptr<comm::Communicator> communicator_;
  backend::Backend& backend_;
  struct KeptStore {
    RankStore command;
    StoreBytes made;
  };
  std::map<std::uint32_t, KeptStore> stores_;
  std::uint32_t next_store_ = 0;
  std::vector<std::string> int8x2_;
  AnnouncedAdapters adapters_;
  std::optional<Error> lost_;  // why ranks are of no more use
};

}  // namespace millrace::model
