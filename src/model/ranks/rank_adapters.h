#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "model/adapters/adapter.h"
#include "model/ranks/rank_commands.h"

namespace millrace::model {

// The adapters that the ranks behind rank 0 have, each its part of them, which each reads from the files: as rank 0
// knows them. One thread.
class AnnouncedAdapters {
 public:
  using Send = std::function<void(const RankCommand&)>;

  bool has(const Adapter& adapter) const { return known_.contains(adapter.id()); }
  // Makes all ranks read the adapter, and waits for them. Throws LoadError: kInvalidArgument naming lora_name, the
  // adapter's path, a rank and why that has it not; then none has it. What communicator and `send` throw.
  void share(const Adapter& adapter, comm::Communicator& communicator, backend::Backend& backend, const Send& send);
  // Tells them which adapters are gone here.
  void end_gone(const Send& send);
  // They have been started anew.
  void clear() noexcept { known_.clear(); }

 private:
  std::map<std::uint64_t, std::weak_ptr<const void>> known_;
};

// The same as one of them knows them. One thread.
class FollowedAdapters {
 public:
  // Reads the adapter of a path for the part of the model that is here. Throws LoadError.
  using Read = std::function<std::shared_ptr<const Adapter>(const std::string& path, const AdapterOptions& options)>;

  explicit FollowedAdapters(Read read) : read_(std::move(read)) {}
  // Reads it, and says to all what came of that. Throws what the communicator does.
  void read(const RankAdapter& command, comm::Communicator& communicator, backend::Backend& backend);
  void end(const RankAdapterEnd& command) { adapters_.erase(command.adapter); }
  // Null: there is none of that number.
  const Adapter* find(std::uint64_t number) const {
    const auto found = adapters_.find(number);
    return found == adapters_.end() ? nullptr : found->second.get();
  }

 private:
  Read read_;
  std::map<std::uint64_t, std::shared_ptr<const Adapter>> adapters_;
};

}  // namespace millrace::model
