#pragma once

#include <array>
#include <string>
#include <vector>

#include "text/marked_text.h"

namespace millrace::text {

// A token that is looked for in the text before anything else. The flags are those of Hugging Face's AddedToken.
struct AddedToken {
  TokenId id = -1;
  std::string content;
  bool single_word = false;             // only between characters that are not \w
  bool lstrip = false, rstrip = false;  // takes the white space before, after
  bool normalized = false;              // looked for after normalization
  bool special = false;                 // a control token: only where the text is trusted
};

struct Segment {
  std::size_t begin = 0, end = 0;
  TokenId token = -1;  // -1: text
};

// Finds added tokens, leftmost first and longest among those that begin there. Immutable after the last add.
class AddedTokenMatcher {
 public:
  void add(const AddedToken& token, std::string_view pattern);
  bool empty() const noexcept { return tokens_.empty(); }
  // Cuts `text` at the tokens found; empty stretches of text are left out.
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
