#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::chat {

// Finds the first of a few words in a text that comes byte by byte, and holds back only what may become one. No word is
// the beginning of another. Cost of a byte: the words' lengths at most.
class MarkerMatcher {
 public:
  explicit MarkerMatcher(std::vector<std::string> words) : words_(std::move(words)) {}

  // Takes a byte. Appends to `text` what is known to be no word; the index of the word that ends here, or -1.
  int push(char byte, std::string& text);
  // What is held back is text after all.
  std::string finish() { return std::exchange(held_, {}); }
  const std::string& word(int index) const { return words_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<std::string> words_;
  std::string held_;  // the beginning of a word
};

}  // namespace millrace::chat
