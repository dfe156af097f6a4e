#include "decode/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace millrace::decode {

// The first stop string in the held text that ends behind what has passed.
bool StopMatcher::find_stop(std::size_t& begin) {
  begin = std::string::npos;
  for (const std::string& stop : stops_) {
    const std::size_t from = passed_ >= stop.size() ? passed_ - stop.size() + 1 : 0;
    if (const std::size_t at = held_.find(stop, from); at < begin) {
      begin = at;
      found_ = stop;
    }
  }
  return begin != std::string::npos;
}

std::string StopMatcher::push(std::string_view text, bool may_stop) {
  if (stopped_) return {};
  held_ += text;
  if (!may_stop) passed_ = held_.size();
  if (std::size_t begin; find_stop(begin)) {
    stopped_ = true;
    held_.resize(shown_ == Shown::kIncluded ? begin + found_.size() : begin);
    return std::exchange(held_, {});
  }
  // The longest end of the text that some stop string begins with.
  std::size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
      if (std::string_view(held_).substr(held_.size() - n) == std::string_view(stop).substr(0, n)) keep = n;
    }
  }
  std::string safe = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  passed_ -= std::min(passed_, safe.size());
  return safe;
}

std::string StopMatcher::finish() { return stopped_ ? std::string{} : std::exchange(held_, {}); }

}  // namespace millrace::decode
