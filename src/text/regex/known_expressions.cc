#include "text/regex/known_expressions.h"

namespace millrace::text {

std::unique_ptr<const WordSplitter> make_known_splitter(std::string_view regex) {
  for (const KnownExpression& known : all_scanners()) {
    if (known.regex == regex) return known.make();
  }
  return nullptr;
}

}  // namespace millrace::text
