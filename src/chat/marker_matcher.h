#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::chat {

// Finds the first of several words in a text that arrives byte by byte, and holds back only text that may become one.
// No word may be a prefix of another. A byte costs at most the total length of the words.
class MarkerMatcher {
 public:
  explicit MarkerMatcher(std::vector<std::string> words) : words_(std::move(words)) {}

  // Takes a byte. Appends to `text` what is now known to be part of no word. Returns the index of the word that ends
  // with this byte, or -1.
  int push(char byte, std::string& text);
  // At the end: returns the text that was held back.
  std::string finish() { return std::exchange(held_, {}); }
  const std::string& word(int index) const { return words_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<std::string> words_;
  std::string held_;  // the beginning of a word
};

}  // namespace millrace::chat
