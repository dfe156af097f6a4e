#include "text/regex/known_expressions.h"
#include "text/word_matches.h"

namespace millrace::text::scanners {

// Qwen 2 and 2.5, StableLM 2, Hunyuan: llama3's, but every number on its own.
KnownExpression qwen2() { return {kQwen2Regex, make_scanner<match_llama3_like<1, unicode::kLetters>>}; }

}  // namespace millrace::text::scanners
