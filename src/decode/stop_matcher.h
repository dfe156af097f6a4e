#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::decode {

// Finds stop strings in text that arrives in pieces. Text that may be the beginning of a stop string is held back until
// that is decided. One thread.
class StopMatcher {
 public:
  enum class Shown { kBefore, kIncluded };  // whether the shown text ends before the stop string or with it

  explicit StopMatcher(std::vector<std::string> stops, Shown shown = Shown::kBefore)
      : stops_(std::move(stops)), shown_(shown) {}

  // Appends text and returns what is now safe to show. When a stop string is found, that is the text up to it, and
  // stopped() is true. With `may_stop` false a stop string that ends in the text so far does not count.
  std::string push(std::string_view text, bool may_stop = true);
  // At the end of the answer: returns the text that was held back.
  std::string finish();
  bool stopped() const noexcept { return stopped_; }
  const std::string& found() const noexcept { return found_; }  // the stop string that was found; empty before

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
