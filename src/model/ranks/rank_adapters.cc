#include "model/ranks/rank_adapters.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"

namespace millrace::model {
namespace {

constexpr std::size_t kMaxAhead = 2;  // adapters that were not asked for yet

// How long others may need longer than rank 0 did for so many bytes: at least 10 seconds, and 10 MB a second.
comm::Communicator::Timeout reading_time(std::size_t bytes) {
  constexpr std::chrono::seconds kLeast{10};
  return kLeast + std::chrono::microseconds(bytes / 10);
}

}  // namespace

void AnnouncedAdapters::share(const Adapter& adapter, const Send& send, const Ask& ask) {
  const AdapterOrigin& origin = adapter.origin();
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(foreseen_, [&](const RankAdapterAhead& ahead) { return ahead.path == origin.path; });
  }
  send_news(send);  // what is gone makes room
  const RankAdapter command{.adapter = adapter.id(),
                            .path = origin.path,
                            .key = adapter.key(),
                            .type = origin.options.type,
                            .max_rank = origin.options.max_rank,
                            .bytes = adapter.bytes()};
  const std::vector<RankAdapterRead> others = ask(command, reading_time(adapter.bytes()));
  const auto failed = std::ranges::find(others, false, &RankAdapterRead::read);
  if (failed == others.end()) {
    known_.emplace(adapter.id(), adapter.life());
    return;
  }
  send(RankAdapterEnd{adapter.id()});
  throw_load_error(ErrorCode::kInvalidArgument, "lora_name", "the adapter {} cannot be read by rank {}: {}",
                   origin.path, failed - others.begin() + 1, failed->error);
}

void AnnouncedAdapters::foresee(const std::string& path, const AdapterOptions& options) {
  const std::lock_guard lock(mutex_);
  if (foreseen_.size() == kMaxAhead) foreseen_.erase(foreseen_.begin());
  foreseen_.push_back({.path = path, .type = options.type, .max_rank = options.max_rank});
}

void AnnouncedAdapters::clear() {
  known_.clear();
  const std::lock_guard lock(mutex_);
  foreseen_.clear();
}

void AnnouncedAdapters::send_news(const Send& send) {
  std::vector<RankAdapterAhead> foreseen;
  {
    const std::lock_guard lock(mutex_);
    foreseen.swap(foreseen_);
  }
  for (const RankAdapterAhead& ahead : foreseen) send(ahead);
  for (auto at = known_.begin(); at != known_.end();) {
    if (!at->second.expired()) {
      ++at;
      continue;
    }
    send(RankAdapterEnd{at->first});
    at = known_.erase(at);
  }
}

void FollowedAdapters::read_ahead(const RankAdapterAhead& command) {
  if (!read_) return;
  while (ahead_.size() >= kMaxAhead) ahead_.pop_front();
  const auto task = [this, command] {
    return read_(command.path, {.type = command.type, .max_rank = command.max_rank});
  };
  try {
    ahead_.push_back({command, std::async(std::launch::async, task)});
  } catch (const std::system_error& failure) {  // no thread is to be had
    log::debug("{}: {}", command.path, failure.what());
  }
}

// What was read ahead may have failed, or be of other files, where these changed meanwhile.
std::shared_ptr<const Adapter> FollowedAdapters::find_or_read(const RankAdapter& command) {
  if (!read_) throw_load_error(ErrorCode::kUnsupported, "", "nothing reads adapters there");
  const auto found = std::ranges::find_if(ahead_, [&](const Ahead& ahead) {
    return ahead.of.path == command.path && ahead.of.type == command.type && ahead.of.max_rank == command.max_rank;
  });
  if (found != ahead_.end()) {
    Ahead ahead = std::move(*found);
    ahead_.erase(found);
    try {
      if (auto adapter = ahead.adapter.get(); adapter->key() == command.key) return adapter;
    } catch (const std::exception& failure) {
      log::debug("{}: {}", command.path, failure.what());
    }
  }
  return read_(command.path, {.type = command.type, .max_rank = command.max_rank});
}

RankAdapterRead FollowedAdapters::read(const RankAdapter& command) {
  try {
    auto adapter = find_or_read(command);
    if (adapter->key() != command.key) return {.error = "its files are no longer those that were loaded"};
    adapters_.emplace(command.adapter, std::move(adapter));
    return {.read = true};
  } catch (const std::exception& failure) {  // of memory too
    return {.error = failure.what()};
  }
}

}  // namespace millrace::model
