#include "loadtest/request_record.h"

namespace millrace::loadtest {

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kWhole: return "whole";
    case Outcome::kRejected: return "rejected";
    case Outcome::kFailed: return "failed";
    case Outcome::kCut: return "cut";
    case Outcome::kTimeout: return "timeout";
    case Outcome::kDisconnected: return "disconnected";
    case Outcome::kStopped: return "stopped";
  }
  return "";
}

}  // namespace millrace::loadtest
