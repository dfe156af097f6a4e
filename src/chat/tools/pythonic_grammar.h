#pragma once

#include "chat/tools/call_grammar.h"

namespace millrace::chat::tools {

// The grammar of [f(a=1, b="x"), g()]. Arguments are in the schema's order and have the types that its top level
// requires; nested values are any literals.
Result<grammar::ExpressionId> pythonic_calls(CallGrammar& to);

}  // namespace millrace::chat::tools
