#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chat/jinja/arithmetic.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<std::unique_ptr<Statement>>;
using NameId = std::size_t;  // index into Program::names

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<Text, ExpressionPtr>> named;  // the names are the template's text: trusted
  ExpressionPtr spread, named_spread;                 // *args, **kwargs; may be null
};

// Expressions. Chains of operators of one precedence are flat, so that their length adds no depth.
struct Literal {
  Value value;
};
struct Name {
  NameId id;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Item {
  ExpressionPtr object, key;
};
struct SliceItem {
  ExpressionPtr object, start, stop, step;  // bounds may be null
};
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};
struct ApplyFilter {
  ExpressionPtr input;  // null: the captured body of a block
  const Filter* filter;
  CallArguments arguments;
};
struct ApplyTest {
  ExpressionPtr input;
  const Test* test;
  CallArguments arguments;
};
struct Not {
  ExpressionPtr operand;
};
struct Sign {
  bool negative;
  ExpressionPtr operand;
};
struct Arithmetic {
  ExpressionPtr first;
  std::vector<std::pair<Operator, ExpressionPtr>> rest;
};
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };
struct Comparison {
  ExpressionPtr first;
  std::vector<std::pair<Relation, ExpressionPtr>> rest;
};
struct Logic {
  bool is_and;
  std::vector<ExpressionPtr> operands;
};
struct Conditional {
  ExpressionPtr test, yes, no;  // `no` may be null: undefined
};
struct ListDisplay {
  bool is_tuple;
  std::vector<ExpressionPtr> items;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};

struct Expression {
  std::variant<Literal, Name, Attribute, Item, SliceItem, Call, ApplyFilter, ApplyTest, Not, Sign, Arithmetic,
               Concatenation, Comparison, Logic, Conditional, ListDisplay, DictDisplay>
      node;
  int line;
};

// The target of `=` or `for`: a name, ns.attribute, or a tuple of targets.
struct Target {
  NameId name = 0;
  std::optional<std::string> attribute;
  std::vector<Target> elements;
  bool is_tuple = false;
};

// Statements.
struct Data {
  Text text;
};
struct Print {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};
struct For {
  Target target;
  ExpressionPtr items, filter;  // `filter` may be null
  Body body, otherwise;
  bool recursive = false;       // the body may call `loop` with the items of the next level
  bool uses_loop = false;       // the body reads `loop`
  bool makes_closures = false;  // a macro, call block or recursive loop inside may outlive an iteration
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  // may be null
  Body body;
};
struct Parameter {
  NameId name;
  ExpressionPtr fallback;  // may be null
};
struct MacroDefinition {
  std::string name;  // empty: the body of a call block
  NameId id = 0;
  std::vector<Parameter> parameters;
  Body body;
  bool takes_varargs = false, takes_kwargs = false, takes_caller = false;  // the body reads these names
  bool makes_closures = false;
  int line = 0;
};
struct DefineMacro {
  std::unique_ptr<MacroDefinition> macro;
};
struct CallBlock {
  ExpressionPtr call;
  std::unique_ptr<MacroDefinition> caller;
};
struct FilterBlock {
  ExpressionPtr filter;
  Body body;
};
struct With {  // also {% generation %}, without bindings
  std::vector<std::pair<Target, ExpressionPtr>> bindings;
  Body body;
  bool makes_closures = false;
};
struct Break {};
struct Continue {};

struct Statement {
  std::variant<Data, Print, If, For, Set, SetBlock, DefineMacro, CallBlock, FilterBlock, With, Break, Continue> node;
  int line;
};

// A parsed template. Immutable.
struct Program {
  Body body;
  std::vector<std::string> names;
  std::map<std::string, NameId, std::less<>> ids;
  std::optional<NameId> loop_name, caller_name, varargs_name, kwargs_name;
};

}  // namespace millrace::chat::jinja
