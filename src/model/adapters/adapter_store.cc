#include "model/adapters/adapter_store.h"

#include <algorithm>

namespace millrace::model {
namespace {

// So many requests whose adapters are in memory may pass one that waits for room; then they wait too, so that its turn
// comes.
constexpr int kOvertakes = 64;

AdapterCard card_of(const AdapterVersion& version) {
  return {.name = version.name,
          .path = version.path,
          .generation = version.generation,
          .pinned = version.pinned,
          .resident = version.adapter != nullptr,
          .used = version.uses > 0,
          .summary = version.summary,
          .bytes = version.bytes};
}

}  // namespace

Result<void> AdapterStore::load_pinned(const std::string& name, const std::string& directory) try {
  const auto version = std::make_shared<AdapterVersion>(name, directory);
  AdapterContent content = timed_read(*version);
  const std::lock_guard lock(mutex_);
  version->pinned = true;
  const auto room = residency_.make_room(*version, content.adapter->bytes(), true, {});
  if (room != AdapterResidency::Room::kFree) {
    Error error = no_room(*version, room, true);
    error.code = ErrorCode::kInvalidArgument;
    return error;
  }
  residency_.add(version, std::move(content));
  give_name(version);
  return {};
} catch (const LoadError& failure) {
  return failure.error();
}

void AdapterStore::load(const std::string& name, const std::string& path, const LoadOptions& options, Loaded then) {
  auto inside = directory_.inside(path);
  if (!inside) return then(inside.error());
  load_files(name, *inside, options, std::move(then));
}

void AdapterStore::load_files(const std::string& name, const std::string& directory, const LoadOptions& options,
                              Loaded then) {
  const auto taken = [this, name, options]() -> Result<void> {
    if (options.replace || !names_.contains(name)) return {};
    return make_error(ErrorCode::kInvalidArgument, "lora_name",
                      "an adapter named {} is loaded: load_inplace replaces it", name);
  };
  const auto ask = std::make_shared<Ask>();
  const auto version = std::make_shared<AdapterVersion>(name, directory);
  version->pinned = options.pinned;
  ask->wanted = {version};
  ask->replaces = options.replace;
  ask->arrived = [this, version, taken] {
    auto fine = taken();
    if (fine) give_name(version);
    return fine;
  };
  ask->then = [this, version, then](Result<Leases> leases) {
    if (!leases) return then(leases.error());
    Lock lock(mutex_);
    AdapterCard card = card_of(*version);
    lock.unlock();
    then(std::move(card));
  };
  Lock lock(mutex_);
  auto fine = taken();
  if (fine && !stopping_) return begin(ask);
  lock.unlock();
  then(fine ? adapters_stopped() : fine.error());
}

bool AdapterStore::remove(const std::string& name) {
  Lock lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) return false;
  const AdapterRef version = found->second;
  names_.erase(found);
  removed_.insert(name);
  residency_.retire(version);
  if (config_.waiting == WaitingRequests::kReject) {
    std::erase_if(rejected_, [](const auto& one) { return one.expired(); });
    rejected_.push_back(version);
    for (const auto& ask : asks_) {
      if (!ask->arrived && std::ranges::find(ask->wanted, version) != ask->wanted.end()) ask->withdrawn = true;
    }
  }
  shared_->changed = true;
  shared_->wake.notify_all();
  const auto gone = thread_.joinable() ? std::vector<std::shared_ptr<const Adapter>>() : residency_.take_gone();
  lock.unlock();
  return true;
}

bool AdapterStore::knows(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return names_.contains(name);
}

Result<AdapterRef> AdapterStore::find(const std::string& name) {
  Lock lock(mutex_);
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  lock.unlock();
  const auto path = directory_.find(name);
  if (!path) return path.error();
  if (!*path) return AdapterRef();
  lock.lock();
  if (removed_.contains(name) && !names_.contains(name)) return AdapterRef();
  AdapterRef& version = names_[name];  // another thread may have found it too
  if (version == nullptr) {
    version = std::make_shared<AdapterVersion>(name, **path);
    version->named = true;
  }
  return version;
}

std::shared_ptr<const chat::ChatFormat> AdapterStore::chat(const AdapterRef& version) const {
  const std::lock_guard lock(mutex_);
  return version->chat;
}

AdapterRef AdapterStore::of_key(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return residency_.of_key(key);
}

bool AdapterStore::rejected(const AdapterRef& version) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(rejected_, [&](const auto& one) { return one.lock() == version; });
}

std::optional<AdapterStore::Leases> AdapterStore::take_resident(const std::vector<AdapterRef>& wanted, bool counted) {
  const std::lock_guard lock(mutex_);
  const bool all = std::ranges::all_of(wanted, [](const AdapterRef& version) { return version->adapter != nullptr; });
  if (!all || (shared_->waiting && overtaken_ == kOvertakes)) return std::nullopt;
  if (shared_->waiting) ++overtaken_;
  if (counted) hits_ += std::ssize(wanted);
  Leases leases;
  for (const AdapterRef& version : wanted) leases.push_back(lease(version));
  return leases;
}

std::optional<AdapterStore::Leases> AdapterStore::known(const std::vector<AdapterRef>& wanted) const {
  const std::lock_guard lock(mutex_);
  Leases known;
  for (const AdapterRef& version : wanted) {
    if (version->key.empty()) return std::nullopt;
    known.push_back({nullptr, version->name, version->generation, version->chat, version->key});
  }
  return known;
}

std::optional<Result<AdapterStore::Leases>> AdapterStore::acquire(std::vector<AdapterRef> wanted, Then then,
                                                                  std::function<bool()> abandoned) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return Result<Leases>(adapters_stopped());
  bool all = true;
  for (const AdapterRef& version : wanted) {
    version->adapter != nullptr ? ++hits_ : ++misses_;
    all = all && version->adapter != nullptr;
  }
  if (all && (!shared_->waiting || overtaken_ < kOvertakes)) {
    if (shared_->waiting) ++overtaken_;
    Leases leases;
    for (const AdapterRef& version : wanted) leases.push_back(lease(version));
    return leases;
  }
  auto ask = std::make_shared<Ask>();
  ask->wanted = std::move(wanted);
  ask->then = std::move(then);
  ask->abandoned = std::move(abandoned);
  begin(std::move(ask));
  return std::nullopt;
}

std::vector<AdapterCard> AdapterStore::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<AdapterCard> cards;
  for (const auto& [name, version] : names_) {
    if (version->key.empty()) continue;
    cards.push_back(card_of(*version));
    cards.back().waited_for = std::ranges::any_of(
        asks_, [&](const auto& ask) { return std::ranges::find(ask->wanted, version) != ask->wanted.end(); });
  }
  return cards;
}

AdapterFigures AdapterStore::figures() const {
  const std::lock_guard lock(mutex_);
  return {.limit = config_.limits.count,
          .resident = residency_.count(),
          .bytes = residency_.bytes(),
          .loads = residency_.loads(),
          .evictions = residency_.evictions(),
          .hits = hits_,
          .misses = misses_};
}

}  // namespace millrace::model
