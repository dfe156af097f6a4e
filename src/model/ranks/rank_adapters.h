#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "model/adapters/adapter.h"
#include "model/ranks/rank_answers.h"
#include "model/ranks/rank_commands.h"

namespace millrace::model {

// The adapters that the ranks behind rank 0 have, each its part of them, which each reads from the files: as rank 0
// knows them. One thread, but for foresee().
class AnnouncedAdapters {
 public:
  using Send = std::function<void(const RankCommand&)>;
  // Sends a command and gives the answers of all ranks but 0, in their order.
  using Ask = std::function<std::vector<RankAdapterRead>(const RankCommand&, comm::Communicator::Timeout)>;

  bool has(const Adapter& adapter) const { return known_.contains(adapter.id()); }
  // Makes all ranks read the adapter, and waits for them. Throws LoadError: kInvalidArgument naming lora_name, the
  // adapter's path, a rank and why that has it not; then none has it. What `send` and `ask` throw.
  void share(const Adapter& adapter, const Send& send, const Ask& ask);
  // Rank 0 begins to read an adapter that will be shared. Any thread. The last two count.
  void foresee(const std::string& path, const AdapterOptions& options);
  // Tells the other ranks which adapters are gone here, and which ones to read ahead.
  void send_news(const Send& send);
  // The other ranks have been started anew, and have nothing.
  void clear();

 private:
  std::map<std::uint64_t, std::weak_ptr<const void>> known_;
  std::mutex mutex_;  // guards `foreseen_`
  std::vector<RankAdapterAhead> foreseen_;
};

// The same as one of them knows them. One thread.
class FollowedAdapters {
 public:
  // Reads the adapter of a path for the part of the model that is here. Throws LoadError. Also on threads of its own,
  // while the model runs.
  using Read = std::function<std::shared_ptr<const Adapter>(const std::string& path, const AdapterOptions& options)>;

  explicit FollowedAdapters(Read read) : read_(std::move(read)) {}
  // Reads it; what came of that.
  RankAdapterRead read(const RankAdapter& command);
  // Begins to read it on a thread of its own. Two that no RankAdapter comes for stay until others are read ahead.
  void read_ahead(const RankAdapterAhead& command);
  void end(const RankAdapterEnd& command) { adapters_.erase(command.adapter); }
  // Null: there is none of that number.
  const Adapter* find(std::uint64_t number) const {
    const auto found = adapters_.find(number);
    return found == adapters_.end() ? nullptr : found->second.get();
  }

 private:
  struct Ahead {
    RankAdapterAhead of;
    std::future<std::shared_ptr<const Adapter>> adapter;
  };
  std::shared_ptr<const Adapter> find_or_read(const RankAdapter& command);

  Read read_;
  std::map<std::uint64_t, std::shared_ptr<const Adapter>> adapters_;
  std::deque<Ahead> ahead_;  // their threads end before what is above
};

}  // namespace millrace::model
