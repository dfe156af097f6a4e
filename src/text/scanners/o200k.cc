#include "text/regex/known_expressions.h"
#include "text/word_matches.h"

namespace millrace::text::scanners {

// o200k_base: GPT-4o, gpt-oss, Llama 4, Phi-4-mini.
KnownExpression o200k() { return {kO200kRegex, make_scanner<match_o200k_like<3, true>>}; }

}  // namespace millrace::text::scanners
