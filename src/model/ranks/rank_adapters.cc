#include "model/ranks/rank_adapters.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "model/ranks/rank_gather.h"

namespace millrace::model {
namespace {

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

void AnnouncedAdapters::end_gone(const Send& send) {
  for (auto at = known_.begin(); at != known_.end();) {
    if (!at->second.expired()) {
      ++at;
      continue;
    }
    send(RankAdapterEnd{at->first});
    at = known_.erase(at);
  }
}

void FollowedAdapters::read(const RankAdapter& command, comm::Communicator& communicator, backend::Backend& backend) {
  AdapterState state;
  const auto fail = [&](std::string_view why) {
    std::copy_n(why.begin(), std::min(why.size(), std::size(state.error) - 1), state.error);
  };
  try {
    if (!read_) throw_load_error(ErrorCode::kUnsupported, "", "nothing reads adapters there");
    auto adapter = read_(command.path, {.type = command.type, .max_rank = command.max_rank});
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
