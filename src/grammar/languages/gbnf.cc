// GBNF, the EBNF of llama.cpp, which xgrammar reads too: `root ::= "a" | [b-z]+ item{2,3}`. A rule goes on until the
// next `name ::=`, over lines.

#include <optional>
#include <utility>

#include "grammar/grammar_text/grammar_text.h"
#include "grammar/grammar_text/rule_table.h"
#include "grammar/language.h"
#include "grammar/regex/character_classes.h"

namespace millrace::grammar::languages {
namespace {

class GbnfReader {
 public:
  GbnfReader(Grammar& to, std::string_view text, WorkMeter& meter)
      : to_(to), meter_(meter), text_(text, {"#"}, meter.limits()), rules_(to, text_) {}

  Result<ExpressionId> run() {
    for (text_.skip_lines(); !text_.at_end(); text_.skip_lines()) definition();
    const ExpressionId root = rules_.root("root");
    if (text_.failed()) return text_.error();
    return root;
  }

 private:
  void definition() {
    const int line = text_.place().line;
    const std::string_view name = text_.name();
    text_.skip_lines();
    if (name.empty() || !text_.take("::=")) return text_.fail("expected a rule: name ::= ...");
    rules_.define(name, line, choices());
  }

  ExpressionId choices() {
    std::vector<ExpressionId> all;
    do {
      all.push_back(sequence());
    } while (text_.take("|"));
    return all.size() == 1 ? all[0] : to_.choice(std::move(all));
  }

  ExpressionId sequence() {
    std::vector<ExpressionId> parts;
    for (text_.skip_lines(); !ends_here(); text_.skip_lines()) {
      if (auto fine = meter_.spend(); !fine) text_.keep(fine.error());
      if (const auto part = atom()) parts.push_back(repeated(*part));
    }
    return parts.size() == 1 ? parts[0] : to_.sequence(std::move(parts));
  }

  // At the end of a group, a choice or the rule.
  bool ends_here() {
    if (text_.at_end() || text_.peek() == '|' || text_.peek() == ')') return true;
    const GrammarText::Place here = text_.place();
    const bool is_name = !text_.name().empty();
    text_.skip_lines();
    const bool is_definition = is_name && text_.take("::=");
    text_.go_back(here);
    return is_definition;
  }

  std::optional<ExpressionId> atom() {
    if (text_.take("\"")) return to_.bytes(text_.quoted());
    if (text_.take("[")) return to_.character(character_class());
    if (text_.take("(")) return group();
    if (text_.take(".")) return to_.character(all_characters());
    if (text_.peek() == '<') return special();
    if (text_.take("!<")) {
      text_.unsupported("any token but one");
      return std::nullopt;
    }
    const std::string_view name = text_.name();
    if (name.empty()) {
      text_.unexpected();
      return std::nullopt;
    }
    if (text_.peek() == '(') {
      text_.unsupported(fmt::format("the function {}(...)", name));
      return std::nullopt;
    }
    return rules_.use(name);
  }

  ExpressionId group() {
    if (text_.take("=")) text_.unsupported("a look-ahead (=...)");
    const int line = text_.place().line;
    text_.enter();
    const ExpressionId inside = choices();
    text_.leave();
    if (!text_.take(")")) text_.fail_as(ErrorCode::kInvalidArgument, line, "the group is not closed");
    return inside;
  }

  // <|name|>; <[id]> has no text that a grammar could hold.
  std::optional<ExpressionId> special() {
    text_.take("<");
    if (text_.peek() == '[') {
      text_.unsupported("a token by its number");
      return std::nullopt;
    }
    return to_.special("<" + text_.until_end('>') + ">");
  }

  ExpressionId repeated(ExpressionId part) {
    text_.skip_spaces();
    std::optional<Counts> counts;
    if (text_.take("*")) counts = Counts{.least = 0, .most = kUnlimited};
    if (text_.take("+")) counts = Counts{.least = 1, .most = kUnlimited};
    if (text_.take("?")) counts = Counts{.least = 0, .most = 1};
    if (text_.take("{")) {
      counts = text_.counts();
      if (!counts) text_.fail("expected a count: {{n}}, {{n,}} or {{n,m}}");
    }
    return counts && !text_.failed() ? to_.repeat(part, counts->least, counts->most) : part;
  }

  unicode::CodePointSet character_class() {
    const bool negated = text_.take("^");
    unicode::CodePointSet set;
    if (text_.peek() == ']') text_.fail("a class is empty: write \\] for a bracket");
    while (!text_.at_end() && text_.peek() != ']') {
      const char32_t first = text_.character();
      char32_t last = first;
      if (text_.peek() == '-' && text_.peek(1) != ']') {
        text_.take("-");
        if (!text_.at_end()) last = text_.character();
      }
      if (first > last) text_.fail("the ends of a range are out of order");
      if (!text_.failed()) set.add(first, last);
    }
    if (!text_.take("]")) text_.fail("a class is not closed");
    return negated ? all_but(set) : set.intersection(all_characters());
  }

  Grammar& to_;
  WorkMeter& meter_;
  GrammarText text_;
  RuleTable rules_;
};

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  return GbnfReader(to, source.text, meter).run();
}

}  // namespace

Language gbnf() { return {.name = "gbnf", .description = "EBNF as llama.cpp writes it (root ::= ...)", .add = add}; }

}  // namespace millrace::grammar::languages
