// Any bytes as GBNF or Lark: a grammar, which then reads text, or an error.

#include <cstddef>

#include "grammar_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::follow_grammar("ebnf", {reinterpret_cast<const char*>(data), size});
  return 0;
}
