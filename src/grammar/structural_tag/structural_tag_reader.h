#pragma once

#include <string>
#include <vector>

#include "grammar/language.h"
#include "grammar/structural_tag/format_fields.h"
#include "grammar/structural_tag/free_text.h"

namespace millrace::grammar {

// Reads structural tags as xgrammar describes and vLLM accepts them: a tree of formats, or the older list of structures
// and triggers. Free text contains no special tokens. It ends at the end of the enclosing tag, so it contains none of
// that tag's end strings.
class StructuralTagReader {
 public:
  StructuralTagReader(Grammar& to, const GrammarSource& source, WorkMeter& meter);

  Result<ExpressionId> run();

 private:
  struct Tag {
    std::string begin, pointer;
    bool begins_with_token;  // and not with text
    ExpressionId rest;       // what follows `begin`
    ExpressionId whole;      // with it
  };
  // A word that ends free text, and what must follow it.
  struct Switch {
    std::string word, pointer;
    ExpressionId then;
  };
  using Reader = ExpressionId (*)(StructuralTagReader&, FormatFields&, const Words& stops);
  struct Kind {
    std::string_view name;
    Reader read;
  };
  static const std::vector<Kind>& kinds();

  // `stops`: the ends of the tag around.
  ExpressionId format(const Json& value, const std::string& pointer, const Words& stops);
  ExpressionId json_schema(FormatFields& fields, const Words& stops);
  ExpressionId any_text(FormatFields& fields, const Words& stops);
  ExpressionId sequence(FormatFields& fields, const Words& stops);
  ExpressionId choice(FormatFields& fields, const Words& stops);
  ExpressionId repeat(FormatFields& fields, const Words& stops);
  ExpressionId tag(FormatFields& fields, const Words& stops);
  ExpressionId triggered_tags(FormatFields& fields, const Words& stops);
  ExpressionId tags_with_separator(FormatFields& fields, const Words& stops);
  ExpressionId dispatch(FormatFields& fields, const Words& stops);
  ExpressionId token(FormatFields& fields, const Words& stops);
  ExpressionId any_tokens(FormatFields& fields, const Words& stops);
  ExpressionId token_triggered_tags(FormatFields& fields, const Words& stops);
  ExpressionId token_dispatch(FormatFields& fields, const Words& stops);

  ExpressionId legacy(FormatFields& fields);
  ExpressionId content(FormatFields& fields, const Words& stops);
  std::vector<ExpressionId> elements(FormatFields& fields, const Words& stops);
  Tag read_tag(FormatFields& fields);
  std::vector<Tag> read_tags(FormatFields& fields);
  ExpressionId marker(const Json& value, const std::string& pointer, std::string& text);
  std::vector<Switch> switches(const std::vector<Tag>& tags, const std::vector<std::string>& triggers,
                               const FormatFields& fields);
  // Free text with switches in it. kOnce: nothing after the first.
  enum class Switching : std::uint8_t { kAnyNumber, kOnce };
  ExpressionId switched_text(const std::vector<Switch>& all, const Words& forbidden, Switching switching);
  // Free text between which these stand, each of which begins with one of the tokens.
  ExpressionId text_between(std::vector<ExpressionId> ways, const Words& tokens, const Words& forbidden,
                            Switching switching, const std::string& pointer);
  std::vector<std::string> tokens(FormatFields& fields, std::string_view name, std::size_t least);
  ExpressionId source(std::string_view language, std::string text, const std::string& pointer);
  ExpressionId automaton(Result<CharAutomaton> made, const std::string& pointer);

  Grammar& to_;
  const GrammarSource& source_;
  WorkMeter& meter_;
  FormatErrors errors_;
  int depth_ = 0;
};

}  // namespace millrace::grammar
