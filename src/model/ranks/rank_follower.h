#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "kv/kv_store.h"
#include "model/ranks/rank_adapters.h"
#include "model/ranks/rank_commands.h"
#include "model/transformer.h"

namespace millrace::model {

// One of the ranks behind rank 0: does with its part of the model what the commands say. One thread.
class RankFollower {
 public:
  // All must outlive it. Without `read` it takes no adapters.
  RankFollower(comm::Communicator& communicator, backend::Backend& backend, Transformer& model,
               FollowedAdapters::Read read = {})
      : communicator_(communicator), backend_(backend), model_(model), adapters_(std::move(read)) {}

  // Follows until rank 0 says that it is over. Throws LoadError: kUnavailable where another rank has ended, kBadFile
  // for a command that cannot be, kResourceExhausted where memory for a step is lacking.
  void run();

 private:
  struct Store {
    std::string encoding, layout;  // that the format refers to
    std::vector<std::string> exceptions;
    std::unique_ptr<kv::KvStore> store;
    std::int64_t window = 0;  // the largest of its layers; 0: none has one
  };
  void follow(RankStep& step);
  void follow(const RankStore& store);
  void follow(const RankStoreEnd& end) { stores_.erase(end.store); }  // also one that was not made
  void follow(const RankPageCopy& copy);
  void follow(const RankPageRead& read);
  void follow(const RankPageWrite& write);
  void follow(const RankStatistics& statistics);
  void follow(const RankInt8x2& int8x2) { model_.set_int8x2(int8x2.weights); }
  void follow(const RankEnd&) { ended_ = true; }
  template <typename Answer>
  void answer(Answer answer);
  void follow(const RankAdapter& adapter);
  void follow(const RankAdapterEnd& adapter) { adapters_.end(adapter); }
  void follow(const RankAdapterAhead& adapter);
  Store& store_of(std::uint32_t number);
  kv::KvStore& pages_of(const RankPage& page);

  comm::Communicator& communicator_;
  backend::Backend& backend_;
  Transformer& model_;
  std::uint64_t command_key_ = 0;  // of the command that it follows
  std::map<std::uint32_t, Store> stores_;
  FollowedAdapters adapters_;
  bool counts_rounding_ = false;
  bool ended_ = false;
};

}  // namespace millrace::model
