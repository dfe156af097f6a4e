#pragma once

#include "grammar/grammar.h"

namespace millrace::grammar {

// For tests: grammars that are hard for a matcher, each for another reason.

inline unicode::CodePointSet set_of(char32_t first, char32_t last) {
  unicode::CodePointSet set;
  set.add(first, last);
  return set;
}

// Left-recursive rules.
inline Grammar arithmetic() {
  Grammar g;
  const RuleId sum = g.declare("sum"), product = g.declare("product"), atom = g.declare("atom");
  g.define(sum, g.choice({g.sequence({g.rule(sum), g.bytes("+"), g.rule(product)}), g.rule(product)}));
  g.define(product, g.choice({g.sequence({g.rule(product), g.bytes("*"), g.rule(atom)}), g.rule(atom)}));
  g.define(atom, g.choice({g.repeat(g.character(set_of('0', '9')), 1, 3),
                           g.sequence({g.bytes("("), g.rule(sum), g.bytes(")")})}));
  g.set_root(g.rule(sum));
  return g;
}

// Hidden left recursion: rule `a` may be empty, may begin with itself behind the nullable rule `b`, and has an
// alternative that never ends.
inline Grammar hidden() {
  Grammar g;
  const RuleId a = g.declare("a"), b = g.declare("b"), never = g.declare("never");
  g.define(b, g.optional(g.bytes("x")));
  g.define(never, g.sequence({g.bytes("y"), g.rule(never)}));
  g.define(a, g.choice({g.sequence({g.rule(b), g.rule(a), g.bytes("y")}), g.bytes("z"), g.bytes(""), g.rule(never)}));
  g.set_root(g.rule(a));
  return g;
}

// S = S S | a | b S b: many derivations of the same text.
inline Grammar ambiguous() {
  Grammar g;
  const RuleId s = g.declare("s");
  g.define(s, g.choice({g.sequence({g.rule(s), g.rule(s)}), g.bytes("a"),
                        g.sequence({g.bytes("b"), g.rule(s), g.bytes("b")})}));
  g.set_root(g.rule(s));
  return g;
}

// Texts of 'a' and 'b' in which an 'a' is followed by exactly 1,000 characters up to the end. Nearly every text leads
// to another state, which has a continuation for each 'a'.
inline Grammar far_from_its_end() {
  Grammar g;
  const ExpressionId letter = g.character(set_of('a', 'b'));
  g.set_root(g.sequence({g.repeat(letter, 0, kUnlimited), g.bytes("a"), g.repeat(letter, 1000, 1000)}));
  return g;
}

}  // namespace millrace::grammar
