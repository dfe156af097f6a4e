#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "comm/mpi_library/mpi_calls.h"

namespace millrace::comm {

// Messages on a way between this rank and others, of at most Communicator::kMaxCommand bytes each. Nothing waits:
// each function looks once, and returns 0, an error of the library, or kTooLong. One thread at a time.
class MpiMail {
 public:
  static constexpr int kTooLong = -2;  // another rank sends a longer message
  using Message = std::vector<std::byte>;
  // `way`: a mpi_way().
  MpiMail(const MpiCalls& calls, int way, int ranks)
      : calls_(calls), way_(way), incoming_(static_cast<std::size_t>(ranks)) {}

  int send(int to, std::shared_ptr<const Message> message);
  int flush();                                                   // forgets what has gone
  std::size_t under_way() const noexcept { return under_way_; }  // bytes, when flush() was last called
  // The next message of that rank, if it is there.
  int look(int from, std::optional<Message>& message);
  // Whether part of a message of that rank has come, and part has not.
  bool is_coming(int from) const noexcept { return incoming_[static_cast<std::size_t>(from)].begun; }

 private:
  struct Sent {
    MpiHandle request;
    std::shared_ptr<const Message> message;
  };
  struct Incoming {
    bool begun = false;
    MpiHandle request;
    Message message;
  };
  const MpiCalls& calls_;
  const int way_;
  std::deque<Sent> sent_;
  std::size_t under_way_ = 0;
  std::vector<Incoming> incoming_;  // by rank
};

}  // namespace millrace::comm
