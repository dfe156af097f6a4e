#pragma once

#include <memory>
#include <utility>

#include "comm/forwarding_communicator.h"

namespace millrace::comm {

// The communicator of a group that can be made anew, when a rank of it has ended: what uses this one stays as it is.
// One thread at a time, as of Communicator; replace() is for the one that sends commands, while no other is in a call.
class ReplaceableCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  void replace(std::shared_ptr<Communicator> next) noexcept { inner_ = std::move(next); }
};

}  // namespace millrace::comm
