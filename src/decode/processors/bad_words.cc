#include <algorithm>

#include "decode/candidates.h"

namespace millrace::decode {

// The last token of a sequence is banned where the answer ends with all before it; of one token, everywhere.
void ban_bad_words(const std::vector<std::vector<std::int32_t>>& words, std::span<const std::int32_t> answer,
                   Candidates& candidates) {
  for (const std::vector<std::int32_t>& word : words) {
    const std::size_t before = word.size() - 1;
    if (before > answer.size()) continue;
    if (std::equal(word.begin(), word.end() - 1, answer.end() - static_cast<std::ptrdiff_t>(before))) {
      ban_token(candidates, word.back());
    }
  }
}

}  // namespace millrace::decode
