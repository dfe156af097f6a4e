#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "model/ranks/rank_adapters.h"
#include "model/ranks/rank_commands.h"
#include "model/ranks/rank_part.h"

namespace millrace::model {

// One of the ranks behind rank 0: does with its part of the model what the commands say. One thread.
class RankFollower {
 public:
  // All must outlive it. Without `read` it takes no adapters.
  RankFollower(comm::Communicator& communicator, RankPart& model, FollowedAdapters::Read read = {})
      : communicator_(communicator), model_(model), adapters_(std::move(read)) {}

  // Follows until rank 0 says that it is over. Throws LoadError: kUnavailable where another rank has ended, kBadFile
  // for a command that cannot be, kResourceExhausted where memory for a step is lacking.
  void run() {
    while (follow_one()) {
    }
  }
  // Does what the next command says, and waits for it. False: rank 0 has said that it is over. Throws as run().
  bool follow_one();

 private:
  struct OfPage {
    kv::PageDevice& device;
    std::int64_t pages = 0;  // that it has
  };
  void follow(RankStep& step);
  void follow(const RankStore& store);
  void follow(const RankStoreEnd& end) { stores_.erase(end.store); }  // also one that was not made
  void follow(const RankPageCopy& copy);
  void follow(const RankPageRead& read);
  void follow(const RankPageWrite& write);
  void follow(const RankGiveBack& parts);
  void follow(const RankStatistics& statistics);
  void follow(const RankInt8x2& int8x2) { model_.set_int8x2(int8x2.weights); }
  void follow(const RankEnd&) { ended_ = true; }
  template <typename Answer>
  void answer(Answer answer);
  void follow(const RankAdapter& adapter);
  void follow(const RankAdapterEnd& adapter) { adapters_.end(adapter); }
  void follow(const RankAdapterAhead& adapter);
  void send(std::vector<std::byte> message);
  RankPages& pages_of(std::uint32_t store);
  OfPage check_page(const RankPage& page);

  comm::Communicator& communicator_;
  RankPart& model_;
  std::uint64_t commands_key_ = 0;                              // of all commands up to the one that it follows
  std::map<std::uint32_t, std::unique_ptr<RankPages>> stores_;  // null: its memory was too short
  FollowedAdapters adapters_;
  bool counts_rounding_ = false;
  bool ended_ = false;
};

}  // namespace millrace::model
