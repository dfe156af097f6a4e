#pragma once

#include "chat/tools/call_grammar.h"

namespace millrace::chat::tools {

// [f(a=1, b="x"), g()]: arguments in the schema's order, of the types that the schema says at the top; deeper it is any
// literal.
Result<grammar::ExpressionId> pythonic_calls(CallGrammar& to);

}  // namespace millrace::chat::tools
