#include "text/cased_words.h"
#include "text/known_expressions.h"

namespace millrace::text::scanners {

KnownExpression qwen2() {
  return {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
          R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          make_scanner<cased_word<1>>};
}

}  // namespace millrace::text::scanners
