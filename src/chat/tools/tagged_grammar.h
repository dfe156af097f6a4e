#pragma once

#include <functional>
#include <string>

#include "chat/tools/call_grammar.h"

namespace millrace::chat::tools {

// How a format with tags spells a call; TaggedCallParser reads it.
struct TaggedCallSpelling {
  using Id = grammar::ExpressionId;

  std::function<Id(const std::string& name)> open, key;  // all in front of the arguments; of a value
  std::string value_close;                               // the value is what stands before it
  Id after_value, between;                               // behind each value, between two arguments
  Id close;
};

// The grammar of a call of any tool: open, then for each argument key, value, after_value; then close.
Result<grammar::ExpressionId> tagged_call(CallGrammar& to, const TaggedCallSpelling& spelling);

}  // namespace millrace::chat::tools
