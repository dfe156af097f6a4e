#include "model/ranks/rank_adapters.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "model/ranks/rank_gather.h"

namespace millrace::model {
namespace {

constexpr std::size_t kMostAhead = 2;  // adapters that nobody has asked for yet

// What came of a rank's reading.
struct AdapterState {
  std::uint32_t is_read = 0;
  char error[508] = {};  // if not, ending with 0
};

// How long others may need longer than rank 0 did for so many bytes: at least 10 seconds, and 10 MB a second.
comm::Communicator::Timeout reading_time(std::size_t bytes) {
  constexpr std::chrono::seconds kLeast{10};
  return kLeast + std::chrono::microseconds(bytes / 10);
}

// All ranks have read, or have failed.
std::vector<AdapterState> meet_readers(const AdapterState& own, std::size_t bytes, comm::Communicator& communicator,
                                       backend::Backend& backend) {
  communicator.await(communicator.publish(), reading_time(bytes)).or_throw();
  return gather_of_ranks(backend, own);
}

}  // namespace

void AnnouncedAdapters::share(const Adapter& adapter, comm::Communicator& communicator, backend::Backend& backend,
                              const Send& send) {
  const AdapterOrigin& origin = adapter.origin();
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(foreseen_, [&](const RankAdapterAhead& ahead) { return ahead.path == origin.path; });
  }
  send_news(send);  // what is gone makes room
  send(RankAdapter{.adapter = adapter.id(),
                   .path = origin.path,
                   .key = adapter.key(),
                   .type = origin.options.type,
                   .max_rank = origin.options.max_rank,
                   .bytes = adapter.bytes()});
  const std::vector<AdapterState> all = meet_readers({.is_read = 1}, adapter.bytes(), communicator, backend);
  const auto failed = std::ranges::find(all, 0u, &AdapterState::is_read);
  if (failed == all.end()) {
    known_.emplace(adapter.id(), adapter.life());
    return;
  }
  send(RankAdapterEnd{adapter.id()});
  throw_load_error(ErrorCode::kInvalidArgument, "lora_name", "the adapter {} cannot be read by rank {}: {}",
                   origin.path, failed - all.begin(), failed->error);
}

void AnnouncedAdapters::foresee(const std::string& path, const AdapterOptions& options) {
  const std::lock_guard lock(mutex_);
  if (foreseen_.size() == kMostAhead) foreseen_.erase(foreseen_.begin());
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
  while (ahead_.size() >= kMostAhead) ahead_.pop_front();
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

void FollowedAdapters::read(const RankAdapter& command, comm::Communicator& communicator, backend::Backend& backend) {
  AdapterState state;
  const auto fail = [&](std::string_view why) {
    std::copy_n(why.begin(), std::min(why.size(), std::size(state.error) - 1), state.error);
  };
  try {
    auto adapter = find_or_read(command);
    if (adapter->key() == command.key) {
      adapters_.emplace(command.adapter, std::move(adapter));
      state.is_read = 1;
    } else {
      fail("its files are no longer those that were loaded");
    }
  } catch (const std::exception& failure) {  // of memory too
    fail(failure.what());
  }
  meet_readers(state, command.bytes, communicator, backend);
}

}  // namespace millrace::model
