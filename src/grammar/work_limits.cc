#include "grammar/work_limits.h"

namespace millrace::grammar {
namespace {

constexpr std::int64_t kBetweenLooks = 1024;  // at the clock

}  // namespace

WorkMeter::WorkMeter(const WorkLimits& limits, const std::atomic<bool>* cancelled, Env& env)
    : limits_(limits), cancelled_(cancelled), env_(env), start_(env.now()) {}

Result<void> WorkMeter::spend(std::int64_t states) {
  spent_ += states;
  if (spent_ > limits_.states) {
    return make_error(ErrorCode::kResourceExhausted, "grammar",
                      "the grammar is too complex: it takes more than {} states", limits_.states);
  }
  return spent_ < next_look_ ? Result<void>() : look();
}

Result<void> WorkMeter::look() {
  next_look_ = spent_ + kBetweenLooks;
  if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) {
    return make_error(ErrorCode::kCancelled, "grammar", "the request for the grammar was cancelled");
  }
  if (milliseconds_between(start_, env_.now()) > limits_.milliseconds) {
    return make_error(ErrorCode::kResourceExhausted, "grammar",
                      "the grammar is too complex: it takes more than {} ms to make", limits_.milliseconds);
  }
  return {};
}

}  // namespace millrace::grammar
