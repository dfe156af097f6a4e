#include "text/regex/known_expressions.h"
#include "text/word_matches.h"

namespace millrace::text::scanners {

// Tekken: Mistral NeMo and later. o200k's, but every number on its own and no contractions.
KnownExpression tekken() { return {kTekkenRegex, make_scanner<match_o200k_like<1, false>>}; }

}  // namespace millrace::text::scanners
