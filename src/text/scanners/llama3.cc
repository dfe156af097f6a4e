#include "text/regex/known_expressions.h"
#include "text/word_matches.h"

namespace millrace::text::scanners {

// Also of cl100k_base (GPT-4), DBRX, GLM-4 and many more.
KnownExpression llama3() { return {kLlama3Regex, make_scanner<match_llama3_like<3, unicode::kLetters>>}; }

}  // namespace millrace::text::scanners
