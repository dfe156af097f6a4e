#include "text/cased_words.h"
#include "text/known_expressions.h"

namespace millrace::text::scanners {

KnownExpression llama3() {
  return {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
          R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          make_scanner<cased_word<3>>};
}

}  // namespace millrace::text::scanners
