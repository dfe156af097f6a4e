#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/adapters/adapter_version.h"
#include "model/adapters/lora_set.h"

namespace millrace::model {

// How much of adapters may be in memory at once; 0 = no limit. What is being read comes on top, and so does an adapter
// that was replaced, as long as requests have it.
struct AdapterLimits {
  std::int64_t count = 0;
  std::uint64_t bytes = 0;
};

// Which adapters are in memory. Those that no request uses and that are not pinned leave it for others, the one used
// longest ago first. One thread at a time.
class AdapterResidency {
 public:
  explicit AdapterResidency(const AdapterLimits& limits) : limits_(limits) {}

  enum class Room {
    kFree,
    kBusy,  // there will be room when uses end
    kNever
  };
  // Lets adapters go until there is room for `incoming` with so many bytes beside those of `kept`. One that `replaces`
  // takes the place of what its name stands for.
  Room make_room(const AdapterVersion& incoming, std::size_t bytes, bool replaces, std::span<const AdapterRef> kept);
  // The version's content is in memory from now on.
  void add(const AdapterRef& version, AdapterContent content);
  // The version has got its name: the set has it. It must be in memory.
  void name(const AdapterVersion& version);
  // The name stands for it no longer: its content goes with its last use.
  void retire(const AdapterRef& version);
  void use(AdapterVersion& version) noexcept;
  // Ends a use(), which had that content.
  void release(const AdapterRef& version, std::shared_ptr<const Adapter> adapter);

  // A version of that content, one in memory if there is any; null: none that lives and was ever in memory.
  AdapterRef of_key(const std::string& key) const;

  // What has left memory since the last call, to be destroyed without a lock.
  [[nodiscard]] std::vector<std::shared_ptr<const Adapter>> take_gone() noexcept { return std::exchange(gone_, {}); }
  bool anything_gone() const noexcept { return !gone_.empty(); }

  const AdapterLimits& limits() const noexcept { return limits_; }
  std::int64_t count() const noexcept { return std::ssize(versions_); }
  std::uint64_t bytes() const noexcept;
  std::int64_t loads() const noexcept { return loads_; }
  std::int64_t evictions() const noexcept { return evictions_; }
  // The adapters in memory, for engines, by name where they have one. All threads.
  const std::shared_ptr<LoraSet>& set() const noexcept { return set_; }

 private:
  void let_go(const AdapterRef& version);

  const AdapterLimits limits_;
  std::vector<AdapterRef> versions_;                // in memory
  std::vector<std::weak_ptr<AdapterVersion>> met_;  // were ever in memory; some have ended
  std::vector<std::shared_ptr<const Adapter>> gone_;
  std::uint64_t clock_ = 0;  // of uses
  std::int64_t loads_ = 0, evictions_ = 0;
  std::shared_ptr<LoraSet> set_ = std::make_shared<LoraSet>();
};

}  // namespace millrace::model
