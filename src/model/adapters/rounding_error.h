#pragma once

#include <cmath>
#include <cstddef>
#include <mutex>
#include <span>

namespace millrace::model {

// What rounding has changed in the values that were read so far: relative, by squares. All threads.
class RoundingError {
 public:
  // Values, and what they became.
  void add(std::span<const float> values, std::span<const float> rounded) {
    double squares = 0.0, errors = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values[i], error = rounded[i] - value;
      squares += value * value;
      errors += error * error;
    }
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
