#include "model/adapters/adapter_residency.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::model {
namespace {

struct Load {
  std::int64_t count = 0;
  std::uint64_t bytes = 0;

  void add(const AdapterVersion& version) noexcept {
    ++count;
    bytes += version.bytes;
  }
  bool within(const AdapterLimits& limits) const noexcept {
    return (limits.count == 0 || count <= limits.count) && (limits.bytes == 0 || bytes <= limits.bytes);
  }
};

}  // namespace

AdapterResidency::Room AdapterResidency::make_room(const AdapterVersion& incoming, std::size_t bytes, bool replaces,
                                                   std::span<const AdapterRef> kept) {
  for (;;) {
    Load all{1, bytes}, staying{1, bytes};
    AdapterRef oldest;  // of those that nothing keeps
    for (const AdapterRef& version : versions_) {
      if (replaces && version->name == incoming.name) continue;
      all.add(*version);
      if (version->pinned || std::ranges::find(kept, version) != kept.end()) {
        staying.add(*version);
      } else if (version->uses == 0 && (oldest == nullptr || version->last_use < oldest->last_use)) {
        oldest = version;
      }
    }
    if (all.within(limits_)) return Room::kFree;
    if (!staying.within(limits_)) return Room::kNever;
    if (oldest == nullptr) return Room::kBusy;
    let_go(oldest);
    ++evictions_;
  }
}

void AdapterResidency::add(const AdapterRef& version, AdapterContent content) {
  CHECK(version->adapter == nullptr);
  std::shared_ptr<const Adapter> adapter = std::move(content.adapter);
  if (version->key.empty()) {
    version->chat = std::move(content.chat);
    std::erase_if(met_, [](const auto& one) { return one.expired(); });
    met_.push_back(version);
  }
  version->key = adapter->key();
  version->summary = adapter->summary();
  version->bytes = adapter->bytes();
  version->last_use = ++clock_;
  set_->add(adapter);
  version->adapter = std::move(adapter);
  versions_.push_back(version);
  if (version->named) name(*version);
  ++loads_;
}

void AdapterResidency::name(const AdapterVersion& version) { set_->put(version.name, version.path, version.adapter); }

void AdapterResidency::retire(const AdapterRef& version) {
  version->named = version->pinned = false;
  set_->remove(version->name);
  if (version->adapter != nullptr && version->uses == 0) let_go(version);
}

void AdapterResidency::use(AdapterVersion& version) noexcept {
  ++version.uses;
  version.last_use = ++clock_;
}

void AdapterResidency::release(const AdapterRef& version, std::shared_ptr<const Adapter> adapter) {
  --version->uses;
  if (version->uses == 0 && !version->named && version->adapter != nullptr) let_go(version);
  if (version->adapter != adapter) gone_.push_back(std::move(adapter));
}

AdapterRef AdapterResidency::of_key(const std::string& key) const {
  for (const AdapterRef& version : versions_) {
    if (version->key == key) return version;
  }
  for (const auto& one : met_) {
    if (AdapterRef version = one.lock(); version != nullptr && version->key == key) return version;
  }
  return nullptr;
}

void AdapterResidency::let_go(const AdapterRef& version) {
  std::erase(versions_, version);
  if (version->named) set_->remove(version->name);
  gone_.push_back(std::exchange(version->adapter, nullptr));
}

std::uint64_t AdapterResidency::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const AdapterRef& version : versions_) sum += version->bytes;
  return sum;
}

}  // namespace millrace::model
