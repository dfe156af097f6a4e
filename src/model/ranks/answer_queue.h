#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace millrace::model {

// What rank 0 has asked the others and not yet heard. Answers of a rank come in the order of the commands that ask for
// them; where a later one is wanted first the earlier ones are kept here. Throws LoadError (kUnavailable) as
// Communicator::collect() says. One thread.
class AnswerQueue {
 public:
  explicit AnswerQueue(comm::Communicator& communicator)
      : communicator_(communicator), of_rank_(static_cast<std::size_t>(communicator.ranks())) {}

  struct Ticket {  // for the answers to one command
    int rank = 0;
    std::uint64_t number = 0;
  };
  // A command is on its way to which that rank answers so many messages.
  Ticket expect(int rank, std::int64_t messages);
  // The next of these.
  std::vector<std::byte> next(const Ticket& ticket, comm::Communicator::Timeout timeout);
  void forget();  // what ranks that have ended have not answered

 private:
  struct Expected {
    std::uint64_t number = 0;
    std::int64_t left = 0;                         // messages that have not come
    std::deque<std::vector<std::byte>> come = {};  // those that have not been taken
  };
  std::vector<std::byte> collect(Expected& expected, int rank, comm::Communicator::Timeout timeout);

  comm::Communicator& communicator_;
  std::uint64_t numbers_ = 0;
  std::vector<std::deque<Expected>> of_rank_;
};

}  // namespace millrace::model
