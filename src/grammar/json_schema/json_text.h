#pragma once

#include "grammar/json_schema/facts.h"
#include "grammar/language.h"

namespace millrace::grammar::json_schema {

// The parts of JSON itself, each a rule that is made when it is first asked for. They look the same in every grammar
// with the same white space, so that what a compiler finds out about them serves all.
class JsonText {
 public:
  JsonText(Grammar& grammar, GrammarSource::WhiteSpace white_space) : grammar_(grammar), white_space_(white_space) {}

  ExpressionId space();  // wherever JSON has it; may be nothing
  ExpressionId comma();  // and the white space around it
  ExpressionId colon();
  ExpressionId string();
  ExpressionId integer();  // no fraction, no exponent
  ExpressionId number();
  ExpressionId value();
  ExpressionId object();
  ExpressionId array();
  ExpressionId name(const std::string& name);  // quoted, in its one spelling
  ExpressionId exactly(const Json& value);
  // '{' inside '}' and '[' inside ']'; `or_nothing`: there may be none.
  ExpressionId enclosed(const char* open, ExpressionId inside, const char* close, bool or_nothing);
  ExpressionId empty(const char* open, const char* close);
  // One or more, with commas.
  ExpressionId list(ExpressionId item, std::int64_t least, std::int64_t most);

 private:
  Grammar& grammar_;
  const GrammarSource::WhiteSpace white_space_;
  ExpressionId space_ = -1, comma_ = -1, colon_ = -1, string_ = -1, integer_ = -1, number_ = -1, value_ = -1,
               object_ = -1, array_ = -1;
};

}  // namespace millrace::grammar::json_schema
