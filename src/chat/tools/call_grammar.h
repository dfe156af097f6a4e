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

// What formats build the grammar of their calls from. For one Grammar.
class CallGrammar {
 public:
  using Id = grammar::ExpressionId;
  using Spell = std::function<Result<Id>(const Tool&)>;

  CallGrammar(grammar::Grammar& to, const ToolUse& use, grammar::WorkMeter& meter)
      : to_(to), use_(use), meter_(meter) {}
  grammar::Grammar& grammar() noexcept { return to_; }
  const ToolUse& use() const noexcept { return use_; }

  Id bytes(std::string_view text) { return to_.bytes(text); }
  Id special(std::string_view text) { return to_.special(text); }  // the token where there is one, else the characters
  Id sequence(std::vector<Id> parts) { return to_.sequence(std::move(parts)); }
  Id space();                         // white space, a little or none
  Id until(std::string_view closer);  // any text up to the first of these, with it
  // Any text in which none of the words comes and that does not begin with `not_first`, behind white space; 0: it may.
  Result<Id> text_without(const std::vector<std::string>& words, char not_first = 0);

  // One of the tools, as `spell` writes it.
  Result<Id> any(const Spell& spell);
  // A call, or several where they may be parallel, with `separator` between.
  Id several(Id call, Id separator);

  // JSON that fits the tool's schema. Where the tool is not strict and no grammar can say its schema, any object.
  Result<Id> arguments(const Tool& tool);
  // {"name": "f", "arguments": {...}}, or with the second first.
  Result<Id> json_call(const Tool& tool, std::string_view name = "name", std::string_view arguments = "arguments");
  // One argument or, in the schema's order, each: those that are not required may be left out. `spell` writes one;
  // a schema without properties gives `otherwise`.
  struct Property {
    std::string name;
    Json schema;  // with the definitions that it refers to
  };
  Result<Id> properties(const Tool& tool, Id separator, const std::function<Result<Id>(const Property&)>& spell,
                        Id otherwise);
  // A property's value as text up to `closer`, with it: any text where the schema says string, else JSON that fits it;
  // any JSON where no grammar can say it and the tool is not strict.
  Result<Id> tagged_value(const Property& property, bool strict, std::string_view closer);

 private:
  Result<Id> json(const Json& schema, bool strict, bool object);
  grammar::Grammar& to_;
  const ToolUse& use_;
  grammar::WorkMeter& meter_;
  Id space_ = -1;
  std::map<std::string, Id> arguments_;  // by tool
};

// Valid UTF-8 as code points.
std::u32string code_points(std::string_view text);

}  // namespace millrace::chat::tools
