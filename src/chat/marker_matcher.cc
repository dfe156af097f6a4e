#include "chat/marker_matcher.h"

#include <algorithm>

namespace millrace::chat {

int MarkerMatcher::push(char byte, std::string& text) {
  held_ += byte;
  while (!held_.empty()) {
    const auto begun = std::ranges::find_if(words_, [&](const std::string& word) { return word.starts_with(held_); });
    if (begun == words_.end()) {
      text += held_.front();
      held_.erase(0, 1);
      continue;
    }
    if (begun->size() > held_.size()) return -1;
    held_.clear();
    return static_cast<int>(begun - words_.begin());
  }
  return -1;
}

}  // namespace millrace::chat
