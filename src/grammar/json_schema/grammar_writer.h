#pragma once

#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/json_schema/json_text.h"
#include "grammar/json_schema/schema_reader.h"

namespace millrace::grammar::json_schema {

// Writes goals into a grammar. Each container of values is a rule that is written later, from a queue, since schemas
// may be recursive and nested to any depth.
class GrammarWriter {
 public:
  GrammarWriter(Grammar& grammar, JsonText& text, SchemaReader& reader)
      : grammar_(grammar), text_(text), reader_(reader), meter_(reader.meter()) {}

  // Writes the goal and all that it refers to. kInvalidArgument if nothing fits.
  Result<ExpressionId> write(const Goal& goal);

 private:
  using Part = Result<ExpressionId>;

  // The goal's expression. What holds other values is a rule that waits.
  Part value(const Goal& goal);
  Part value(const Alternatives& all);
  Part values(const Facts& facts);
  Result<void> scalars(const Facts& facts, std::vector<ExpressionId>& parts);
  // write_scalars.cc
  Part number(const NumberFacts& facts, Types types);
  Part string(const StringFacts& facts);
  ExpressionId quoted(CharAutomaton inside);

  // write_arrays.cc
  Part array(const ArrayFacts& facts);
  Part plain_array(const ArrayFacts& facts);
  // The items in their order, as many of them as come; `rest` follows the last.
  ExpressionId as_far_as(std::span<const ExpressionId> items, ExpressionId rest);
  Part counted_array(const ArrayFacts& facts);
  Part unique_array(const ArrayFacts& facts);

  // write_objects.cc
  struct Member {
    ExpressionId expression;
    bool required;
  };
  Part object(const ObjectFacts& facts);
  Part member(const std::string& name, const Goal& goal);
  Part member(const CharAutomaton& names, const Goal& goal);
  ExpressionId first_of(std::span<const Member> members);
  ExpressionId rest_of(std::span<const Member> members);
  Part counted_object(const ObjectFacts& facts, const ObjectPlan& plan);

  Grammar& grammar_;
  JsonText& text_;
  SchemaReader& reader_;
  WorkMeter& meter_;
  std::map<Goal, ExpressionId> written_;
  std::deque<std::pair<RuleId, const Alternatives*>> waiting_;
  std::vector<std::pair<StringFacts, ExpressionId>> strings_;
  std::vector<std::pair<std::pair<NumberFacts, Types>, ExpressionId>> numbers_;
};

}  // namespace millrace::grammar::json_schema
