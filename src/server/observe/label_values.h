#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace millrace::server::observe {

// The values of one label of metrics. The first `most` values are admitted and later ones become "other", so that
// clients cannot fill the memory of the server or of a reader of its metrics. Thread-safe.
class LabelValues {
 public:
  explicit LabelValues(std::size_t most) : max_(most) {}

  // The value itself if it is admitted; "other" if not, or if it has more than 256 bytes.
  std::string admit(std::string_view value) {
    const std::lock_guard lock(mutex_);
    if (values_.contains(value)) return std::string(value);
    if (values_.size() >= max_ || value.size() > kLongest) return "other";
    values_.emplace(value);
    return std::string(value);
  }

 private:
  static constexpr std::size_t kLongest = 256;
  const std::size_t max_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> values_;
};

}  // namespace millrace::server::observe
