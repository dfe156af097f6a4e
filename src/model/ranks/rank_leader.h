#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "kv/page_ranks.h"
#include "model/batch_input.h"
#include "model/ranks/rank_commands.h"

namespace millrace::model {

// Rank 0's way to the other ranks of a shared model, which follow its commands (rank_follower.h). Each function returns
// when the command is on its way, unless it says otherwise. Throws LoadError (kUnavailable) naming a rank that has
// ended. One thread.
class RankLeader {
 public:
  RankLeader(std::shared_ptr<comm::Communicator> communicator, backend::Backend& backend)
      : communicator_(std::move(communicator)), backend_(backend) {}
  ~RankLeader();  // tells them that it is over
  RankLeader(const RankLeader&) = delete;
  RankLeader& operator=(const RankLeader&) = delete;

  int ranks() const noexcept { return communicator_->ranks(); }
  backend::Backend& backend() const noexcept { return backend_; }
  void send(const RankCommand& command);
  // A step over the store of that number.
  void step(const BatchInput& input, std::uint32_t store);

  // Makes the others' stores, in the format of pages of the whole model. `made`: whether this rank's is there, with so
  // many bytes a page. Waits for all. kResourceExhausted names the ranks whose memory is too short.
  struct StoreBytes {  // of a rank
    std::uint64_t is_made = 0, page = 0, window_page = 0;
  };
  Result<std::shared_ptr<kv::PageRanks>> make_store(RankStore store, const StoreBytes& made);

 private:
  std::shared_ptr<comm::Communicator> communicator_;
  backend::Backend& backend_;
  std::uint32_t stores_ = 0;
};

}  // namespace millrace::model
