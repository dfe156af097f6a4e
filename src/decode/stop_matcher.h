#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::decode {

// Finds stop strings in text that arrives in pieces. Text that could be the beginning of one is held back until it is
// decided.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // The text that is now safe to show. After a stop string was found: the text before it, and stopped() is true.
  std::string push(std::string_view text);
  // At the end of the answer: what was held back.
  std::string finish();
  bool stopped() const noexcept { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace millrace::decode
