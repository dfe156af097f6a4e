#include "chat/tools/tagged_grammar.h"

namespace millrace::chat::tools {

using grammar::ExpressionId;

Result<ExpressionId> tagged_call(CallGrammar& to, const TaggedCallSpelling& spelling) {
  return to.any([&](const Tool& tool) -> Result<ExpressionId> {
    const auto spell = [&](const CallGrammar::Property& property) -> Result<ExpressionId> {
      auto value = to.tagged_value(property, tool.strict, spelling.value_close);
      if (!value) return value;
      return to.sequence({spelling.key(property.name), *value, spelling.after_value});
    };
    auto members = to.properties(tool, spelling.between, spell, to.bytes(""));
    if (!members) return members;
    return to.sequence({spelling.open(tool.name), *members, spelling.close});
  });
}

}  // namespace millrace::chat::tools
