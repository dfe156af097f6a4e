#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::decode {

// Finds stop strings in text that arrives in pieces. Text that could be the beginning of one is held back until it is
// decided.
class StopMatcher {
 public:
  enum class Shown { kBefore, kIncluded };  // of the text with a stop string in it: what is before it, or it too

  explicit StopMatcher(std::vector<std::string> stops, Shown shown = Shown::kBefore)
      : stops_(std::move(stops)), shown_(shown) {}

  // The text that is now safe to show. After a stop string was found: the text up to it, and stopped() is true. With
  // `may_stop` false a stop string that lies wholly in the text so far is text like any other.
  std::string push(std::string_view text, bool may_stop = true);
  // At the end of the answer: what was held back.
  std::string finish();
  bool stopped() const noexcept { return stopped_; }
  const std::string& found() const noexcept { return found_; }  // the stop string, once stopped

 private:
  bool find_stop(std::size_t& begin);

  std::vector<std::string> stops_;
  Shown shown_;
  std::string held_;
  std::size_t passed_ = 0;  // of held_, in which no stop string may lie wholly
  std::string found_;
  bool stopped_ = false;
};

}  // namespace millrace::decode
