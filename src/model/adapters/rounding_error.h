#pragma once

#include <cmath>
#include <mutex>

namespace millrace::model {

// What rounding has changed in the values that were read so far: relative, by squares. All threads.
class RoundingError {
 public:
  void add(double squares, double errors) {
    const std::lock_guard lock(mutex_);
    squares_ += squares;
    errors_ += errors;
  }
  double relative() const {
    const std::lock_guard lock(mutex_);
    return squares_ > 0.0 ? std::sqrt(errors_ / squares_) : 0.0;
  }

 private:
  mutable std::mutex mutex_;
  double squares_ = 0.0, errors_ = 0.0;
};

}  // namespace millrace::model
