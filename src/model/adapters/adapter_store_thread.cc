#include "model/adapters/adapter_store.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "base/readable_bytes.h"
#include "base/thread_name.h"

// The thread of a store, what waits for it, and leases.

namespace millrace::model {
namespace {

Error removed_error(const std::string& name) {
  return make_error(ErrorCode::kNotFound, "lora_name", "the adapter {} was unloaded", name);
}

}  // namespace

// With the lock.
void AdapterStore::begin(std::shared_ptr<Ask> ask) {
  asks_.push_back(std::move(ask));
  if (config_.own_thread && !thread_.joinable()) {
    shared_->watching = true;
    thread_ = std::thread([this] {
      name_thread("adapters");
      run();
    });
  }
  shared_->changed = true;
  shared_->wake.notify_all();
}

void AdapterStore::run() {
  Lock lock(mutex_);
  while (!stopping_) {
    shared_->wake.wait(lock, [this] { return shared_->changed || stopping_; });
    shared_->changed = false;
    lock.unlock();
    while (const AdapterRef version = next_read()) arrived(read(*version));
    lock.lock();
  }
}

// Serves the asks, the first one first, until files are to be read for it, or it has to wait for room.
AdapterRef AdapterStore::next_read() {
  Lock lock(mutex_);
  CHECK(reading_ == nullptr);
  clear_gone(lock);
  end_withdrawn(lock);
  while (!stopping_ && !asks_.empty()) {
    const std::shared_ptr<Ask> ask = asks_.front();
    shared_->waiting = false;
    if (ask->taken.size() == ask->wanted.size()) {
      const Result<void> fine = ask->arrived ? ask->arrived() : Result<void>();
      end(lock, ask, fine ? Result<Leases>(std::exchange(ask->taken, {})) : fine.error());
      continue;
    }
    const AdapterRef version = ask->wanted[ask->taken.size()];
    std::optional<Error> error;
    if (ask->read.adapter == nullptr && ask->abandoned()) {
      error = Error{ErrorCode::kCancelled, "", "the client has left"};
    } else if (ask->withdrawn) {
      error = removed_error(version->name);
    } else if (version->adapter != nullptr) {
      ask->taken.push_back(lease(version));
      continue;
    } else {
      error = make_room(*ask, *version);
      if (shared_->waiting) break;
    }
    if (error) {
      end(lock, ask, *std::move(error));
      continue;
    }
    if (ask->read.adapter == nullptr) {
      clear_gone(lock);  // first, so that both are not in memory
      return reading_ = version;
    }
    residency_.add(version, std::exchange(ask->read, {}));
    if (version->named && version->generation == 0) version->generation = ++generations_[version->name];
    ask->taken.push_back(lease(version));  // at once: without a name it is nobody's else
  }
  clear_gone(lock);
  return nullptr;
}

// For the version's content, as far as its size is known. Sets `waiting` where there will be room later.
std::optional<Error> AdapterStore::make_room(const Ask& ask, const AdapterVersion& version) {
  const std::size_t bytes = ask.read.adapter == nullptr ? version.bytes : ask.read.adapter->bytes();
  const auto found = residency_.make_room(version, bytes, ask.replaces, ask.wanted);
  if (found == AdapterResidency::Room::kFree) return std::nullopt;
  shared_->waiting = found == AdapterResidency::Room::kBusy && config_.when_full == WhenFull::kQueue;
  return no_room(version, found, bytes > 0);
}

// For the first ask.
void AdapterStore::arrived(Result<AdapterContent> content) {
  Lock lock(mutex_);
  const AdapterRef version = std::exchange(reading_, nullptr);
  const std::shared_ptr<Ask> ask = asks_.front();
  if (ask->withdrawn) return;  // next_read() ends it
  const bool again = !version->key.empty();
  if (content && again && content->adapter->key() != version->key) {
    content = make_error(ErrorCode::kUnavailable, "lora_name",
                         "the files of the adapter {} are no longer those that were loaded: load_inplace takes these",
                         version->name);
  } else if (!content && again) {
    content = make_error(ErrorCode::kUnavailable, "lora_name", "the adapter {} cannot be read again: {}", version->name,
                         content.error().message);
  }
  if (content) {
    ask->read = *std::move(content);
    return;
  }
  const auto named = names_.find(version->name);
  if (!again && named != names_.end() && named->second == version) names_.erase(named);
  end(lock, ask, content.error());
}

AdapterContent AdapterStore::timed_read(const AdapterVersion& version) const {
  const TimePoint start = env_.now();
  AdapterContent content = read_(version.path);
  const Adapter& adapter = *content.adapter;
  const AdapterSummary& summary = adapter.summary();
  log::info("adapter {}: {}: rank {} for {} weights, {} as {} (error {:.1e}), loaded in {:.0f} ms", version.name,
            version.path, summary.rank, summary.modules, readable_bytes(static_cast<double>(adapter.bytes())),
            summary.type, summary.error, milliseconds_between(start, env_.now()));
  return content;
}

Result<AdapterContent> AdapterStore::read(const AdapterVersion& version) const try {
  return timed_read(version);
} catch (const LoadError& failure) {
  log::warn("adapter {}: {}", version.name, failure.error().message);
  Error error = failure.error();
  if (error.code == ErrorCode::kBadFile || error.code == ErrorCode::kNotFound) error.code = ErrorCode::kInvalidArgument;
  if (error.code == ErrorCode::kResourceExhausted) error.code = ErrorCode::kUnavailable;
  return error;
} catch (const std::exception& failure) {
  log::error("adapter {}: {}", version.name, failure.what());
  return make_error(ErrorCode::kUnavailable, "lora_name", "the adapter {} does not fit in memory", version.name);
}

Error AdapterStore::no_room(const AdapterVersion& version, AdapterResidency::Room room, bool bytes) const {
  const AdapterLimits& limits = config_.limits;
  const bool by_count = limits.count > 0 && (residency_.count() >= limits.count || limits.bytes == 0 || !bytes);
  const std::string limit = by_count
                                ? fmt::format("--max-loras {}", limits.count)
                                : fmt::format("--lora-memory {}", readable_bytes(static_cast<double>(limits.bytes)));
  return make_error(ErrorCode::kResourceExhausted, by_count ? "max-loras" : "lora-memory",
                    "there is no room for the adapter {} beside {}: the limit is {}", version.name,
                    room == AdapterResidency::Room::kBusy ? "those that requests use" : "those that stay in memory",
                    limit);
}

void AdapterStore::end(Lock& lock, std::shared_ptr<Ask> ask, Result<Leases> with) {
  std::erase(asks_, ask);
  shared_->waiting = false;
  overtaken_ = 0;
  lock.unlock();  // leases that end here take it
  ask->taken.clear();
  ask->read = {};
  std::exchange(ask->then, {})(std::move(with));
  ask->abandoned = {};
  lock.lock();
}

void AdapterStore::end_withdrawn(Lock& lock) {
  for (;;) {
    const auto found = std::ranges::find_if(asks_, [](const auto& ask) { return ask->withdrawn; });
    if (found == asks_.end()) return;
    const std::shared_ptr<Ask> ask = *found;
    end(lock, ask, removed_error(ask->wanted.front()->name));
  }
}

void AdapterStore::clear_gone(Lock& lock) {
  auto gone = residency_.take_gone();
  if (gone.empty()) return;
  lock.unlock();
  gone.clear();
  lock.lock();
}

// With the lock. It must be in memory.
void AdapterStore::give_name(const AdapterRef& version) {
  AdapterRef& named = names_[version->name];
  if (named != nullptr) {
    version->pinned = version->pinned || named->pinned;
    residency_.retire(named);
  }
  named = version;
  removed_.erase(version->name);
  version->named = true;
  version->generation = ++generations_[version->name];
  residency_.name(*version);
}

// With the lock.
AdapterLease AdapterStore::lease(const AdapterRef& version) {
  residency_.use(*version);
  const Adapter* adapter = version->adapter.get();
  auto end = [shared = shared_, version, content = version->adapter](const Adapter*) mutable {
    shared->release(version, std::move(content));
  };
  return {std::shared_ptr<const Adapter>(adapter, std::move(end)), version->name, version->generation, version->chat,
          version->key};
}

void AdapterStore::Shared::release(const AdapterRef& version, std::shared_ptr<const Adapter> adapter) {
  std::vector<std::shared_ptr<const Adapter>> gone;
  const std::lock_guard lock(mutex);
  residency.release(version, std::move(adapter));
  if (!waiting && !residency.anything_gone()) return;
  changed = true;
  if (watching) return wake.notify_all();
  gone = residency.take_gone();  // destroyed behind the lock
}

void AdapterStore::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    shared_->watching = false;
  }
  shared_->wake.notify_all();
  if (thread_.joinable()) thread_.join();
  Lock lock(mutex_);
  while (!asks_.empty()) end(lock, asks_.front(), adapters_stopped());
  clear_gone(lock);
}

}  // namespace millrace::model
