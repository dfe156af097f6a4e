#pragma once

#include "chat/tools/call_grammar.h"

namespace millrace::chat::tools {

// The grammar of one call, f(a=1, b="x").
Result<grammar::ExpressionId> pythonic_call(CallGrammar& to);
// The grammar of [f(a=1, b="x"), g()]. Arguments are in the schema's order and have the types that its top level
// requires; nested values are any literals.
Result<grammar::ExpressionId> pythonic_calls(CallGrammar& to);

}  // namespace millrace::chat::tools
