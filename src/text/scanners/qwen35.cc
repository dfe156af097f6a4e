#include "text/regex/known_expressions.h"
#include "text/word_matches.h"

namespace millrace::text::scanners {

// Qwen 3.5: qwen2's, with marks as parts of words.
KnownExpression qwen35() {
  return {kQwen35Regex, make_scanner<match_llama3_like<1, unicode::kLetters | unicode::kMarks>>};
}

}  // namespace millrace::text::scanners
