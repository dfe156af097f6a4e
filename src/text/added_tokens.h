#pragma once

#include <array>
#include <string>
#include <vector>

#include "text/marked_text.h"

namespace millrace::text {

// A token that is searched for in the text before anything else. The flags are those of Hugging Face's AddedToken.
struct AddedToken {
  TokenId id = -1;
  std::string content;
  bool single_word = false;             // matches only between characters that are not \w
  bool lstrip = false, rstrip = false;  // the match includes the white space before, after
  bool normalized = false;              // searched for after normalization
  bool special = false;                 // a control token, only recognised in trusted text
};

struct Segment {
  std::size_t begin = 0, end = 0;
  TokenId token = -1;  // -1: text
};

// Finds added tokens in text: the leftmost first, and of those that begin there the longest. Immutable after the last
// add().
class AddedTokenMatcher {
 public:
  void add(const AddedToken& token, std::string_view pattern);
  bool empty() const noexcept { return tokens_.empty(); }
  // Splits `text` at the tokens found; there are no empty segments of text.
  void split(const MarkedText& text, std::vector<Segment>& out) const;

 private:
  struct Node {
    char byte = 0;
    std::int32_t token = -1;  // index into tokens_: a pattern ends here
    std::int32_t first_child = -1, next_sibling = -1;
  };
  struct Match {
    const AddedToken* token = nullptr;
    std::size_t end = 0;
  };
  std::int32_t child(std::int32_t node, char byte) const noexcept;
  Match longest_at(const MarkedText& text, std::size_t at) const noexcept;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  std::array<std::int32_t, 256> roots_ = [] {
    std::array<std::int32_t, 256> roots{};
    roots.fill(-1);
    return roots;
  }();
};

}  // namespace millrace::text
