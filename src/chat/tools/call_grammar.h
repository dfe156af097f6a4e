#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/tool_use.h"
#include "grammar/grammar.h"
#include "grammar/work_limits.h"

namespace millrace::chat::tools {

// The building blocks from which formats make the grammar of their calls, for one Grammar.
class CallGrammar {
 public:
  using Id = grammar::ExpressionId;
  using Spell = std::function<Result<Id>(const Tool&)>;

  CallGrammar(grammar::Grammar& to, const ToolUse& use, grammar::WorkMeter& meter)
      : to_(to), use_(use), meter_(meter) {}
  grammar::Grammar& grammar() noexcept { return to_; }
  const ToolUse& use() const noexcept { return use_; }

  Id bytes(std::string_view text) { return to_.bytes(text); }
  // The token if there is one, else its characters.
  Id special(std::string_view text) { return to_.special(text); }
  Id sequence(std::vector<Id> parts) { return to_.sequence(std::move(parts)); }
  Id space();                         // white space, limited in length, possibly none
  Id until(std::string_view closer);  // any text up to and with the first `closer`
  // Any text that contains none of the words. Its first character after white space is not `not_first`; 0: it may be
  // any.
  Result<Id> text_without(const std::vector<std::string>& words, char not_first = 0);

  // One of the tools, in the form that `spell` gives it.
  Result<Id> any(const Spell& spell);
  // One call or, if calls may be parallel, several with `separator` between them.
  Id several(Id call, Id separator);

  // JSON that fits the tool's schema. If a grammar cannot express the schema and the tool is not strict, any object.
  Result<Id> arguments(const Tool& tool);
  // {"name": "f", "arguments": {...}}, in either order.
  Result<Id> json_call(const Tool& tool, std::string_view name = "name", std::string_view arguments = "arguments");
  // Each argument in the schema's order, in the form that `spell` gives it; those that are not required may be absent.
  // For a schema without properties it is `otherwise`.
  struct Property {
    std::string name;
    Json schema;  // with the definitions that it refers to
  };
  Result<Id> properties(const Tool& tool, Id separator, const std::function<Result<Id>(const Property&)>& spell,
                        Id otherwise);
  // A property's value as text up to and with `closer`: any text if the schema's type is string, else JSON that fits
  // it. If a grammar cannot express it and the tool is not strict, any JSON.
  Result<Id> tagged_value(const Property& property, bool strict, std::string_view closer);

 private:
  Result<Id> json(const Json& schema, bool strict, bool object);
  grammar::Grammar& to_;
  const ToolUse& use_;
  grammar::WorkMeter& meter_;
  Id space_ = -1;
  std::map<std::string, Id> arguments_;  // by tool
};

// The code points of valid UTF-8.
std::u32string code_points(std::string_view text);

}  // namespace millrace::chat::tools
