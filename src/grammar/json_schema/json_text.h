#pragma once

#include "grammar/json_schema/facts.h"
#include "grammar/language.h"

namespace millrace::grammar::json_schema {

// The parts of JSON itself, each a rule that is made when first used. They are equal in all grammars with the same
// white space, so that a compiler can share its work on them.
class JsonText {
 public:
  JsonText(Grammar& grammar, GrammarSource::WhiteSpace white_space) : grammar_(grammar), white_space_(white_space) {}

  ExpressionId space();  // white space where JSON allows it; may be empty
  ExpressionId comma();  // with the white space around it
  ExpressionId colon();
  ExpressionId string();
  ExpressionId integer();  // no fraction, no exponent
  ExpressionId number();
  ExpressionId value();
  ExpressionId object();
  ExpressionId array();
  ExpressionId name(const std::string& name);  // quoted, in one fixed spelling
  ExpressionId exactly(const Json& value);
  // '{' inside '}' or '[' inside ']'. With `or_nothing` the content may be empty.
  ExpressionId enclosed(const char* open, ExpressionId inside, const char* close, bool or_nothing);
  ExpressionId empty(const char* open, const char* close);
  // `least` to `most` items, separated by commas; at least one.
  ExpressionId list(ExpressionId item, std::int64_t least, std::int64_t most);

 private:
  Grammar& grammar_;
  const GrammarSource::WhiteSpace white_space_;
  ExpressionId space_ = -1, comma_ = -1, colon_ = -1, string_ = -1, integer_ = -1, number_ = -1, value_ = -1,
               object_ = -1, array_ = -1;
};

}  // namespace millrace::grammar::json_schema
