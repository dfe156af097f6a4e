#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/char_automaton.h"
#include "unicode/code_point_set.h"

namespace millrace::grammar {

using ExpressionId = std::int32_t;  // index of an expression within one Grammar
using RuleId = std::int32_t;

// How the characters of an automaton are written in the text.
enum class Spelling : std::uint8_t {
  kUtf8,
  kJsonString,  // as inside a JSON string: directly, or with any escape that JSON allows for the character
};

struct Expression {
  enum class Kind : std::uint8_t { kBytes, kCharacter, kSequence, kChoice, kRepeat, kRule, kAutomaton, kSpecial };
  Kind kind = Kind::kBytes;
  Spelling spelling = Spelling::kUtf8;
  std::string text;                  // kBytes: the bytes; kSpecial: the text of the special token
  unicode::CodePointSet set;         // kCharacter
  std::vector<ExpressionId> parts;   // kSequence, kChoice; kRepeat: one
  std::int64_t least = 0, most = 0;  // kRepeat; most -1: no upper limit
  RuleId rule = 0;                   // kRule
  CharAutomaton automaton;           // kAutomaton
};

inline constexpr std::int64_t kUnlimited = -1;

// What a text may be: a context-free grammar over bytes, whose rules are regular expressions, as data. All sources
// (JSON Schema, regular expressions, EBNF ...) are converted to it, and compile() makes a CompiledGrammar of it. Text
// is UTF-8; other bytes can only come from bytes(). Expressions may be used several times, and rules may be recursive,
// also on the left. Building costs only what is added; compile() enforces limits. One thread.
class Grammar {
 public:
  ExpressionId bytes(std::string_view literal);       // exactly these bytes; "" is the empty text, which always fits
  ExpressionId character(unicode::CodePointSet set);  // one of the set; surrogates never fit
  ExpressionId sequence(std::vector<ExpressionId> parts);
  ExpressionId choice(std::vector<ExpressionId> parts);  // without parts: nothing fits
  // `part` repeated `least` to `most` times, 0 <= least <= most; `most` may be kUnlimited.
  ExpressionId repeat(ExpressionId part, std::int64_t least, std::int64_t most);
  ExpressionId optional(ExpressionId part) { return repeat(part, 0, 1); }
  ExpressionId automaton(CharAutomaton automaton, Spelling spelling = Spelling::kUtf8);
  // The special token with that text ("<|python_tag|>"), not its characters; if the vocabulary has no such token, the
  // characters.
  ExpressionId special(std::string_view text);

  // Declares a rule, to be defined later; nothing fits a rule that is never defined. Names are for people and need not
  // be unique. Rules are also the unit in which compiled work is shared between grammars: common parts (a JSON string,
  // white space) should be rules.
  RuleId declare(std::string name);
  void define(RuleId rule, ExpressionId expression);
  ExpressionId rule(RuleId rule);
  // Declares and defines a rule, and returns an expression for it.
  ExpressionId named(std::string name, ExpressionId expression);

  // Records parts of the sources that were left out, so that the API can report them.
  void note_ignored(std::vector<std::string> places) { ignored_.insert(ignored_.end(), places.begin(), places.end()); }
  const std::vector<std::string>& ignored() const noexcept { return ignored_; }
  // Prefixes the notes from number `from` on with `place`.
  void put_ignored_below(std::size_t from, const std::string& place) {
    for (; from < ignored_.size(); ++from) ignored_[from].insert(0, place);
  }

  void set_root(ExpressionId root) noexcept { root_ = root; }
  ExpressionId root() const noexcept { return root_; }
  const Expression& at(ExpressionId id) const { return expressions_[static_cast<std::size_t>(id)]; }
  std::size_t rules() const noexcept { return rules_.size(); }
  const std::string& name(RuleId rule) const { return rules_[static_cast<std::size_t>(rule)].name; }
  // -1: not defined.
  ExpressionId definition(RuleId rule) const { return rules_[static_cast<std::size_t>(rule)].expression; }
  std::size_t size() const noexcept { return expressions_.size(); }

 private:
  struct Rule {
    std::string name;
    ExpressionId expression = -1;
  };
  ExpressionId add(Expression expression);
  std::vector<Expression> expressions_;
  std::vector<Rule> rules_;
  std::vector<std::string> ignored_;
  ExpressionId root_ = -1;
};

}  // namespace millrace::grammar
