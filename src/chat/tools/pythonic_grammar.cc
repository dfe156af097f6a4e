#include "chat/tools/pythonic_grammar.h"

#include <algorithm>

namespace millrace::chat::tools {
namespace {

using Id = grammar::ExpressionId;

// Literals of Python that JSON has too.
class Literals {
 public:
  explicit Literals(grammar::Grammar& to) : to_(to) {}

  Id string() {
    unicode::CodePointSet quote, plain, escapes, hex;
    for (const char32_t c : {U'"', U'\\', U'\n', U'\r'}) quote.add(c, c);
    for (const char32_t c : {U'"', U'\'', U'\\', U'n', U'r', U't', U'b', U'f'}) escapes.add(c, c);
    hex.add(U'0', U'9');
    hex.add(U'a', U'f');
    const Id escape =
        to_.choice({to_.character(escapes), to_.sequence({to_.bytes("u"), to_.repeat(to_.character(hex), 4, 4)})});
    const Id one = to_.choice({to_.character(quote.complement()), to_.sequence({to_.bytes("\\"), escape})});
    return named(string_, "string", [&] {
      return to_.sequence({to_.bytes("\""), to_.repeat(one, 0, grammar::kUnlimited), to_.bytes("\"")});
    });
  }
  Id integer() {
    return named(integer_, "integer", [&] {
      const Id digits = to_.sequence({digit(U'1'), to_.repeat(digit(U'0'), 0, 18)});
      return to_.sequence({to_.optional(to_.bytes("-")), to_.choice({to_.bytes("0"), digits})});
    });
  }
  Id number() {
    return named(number_, "number", [&] {
      return to_.sequence({integer(), to_.optional(to_.sequence({to_.bytes("."), to_.repeat(digit(U'0'), 1, 18)}))});
    });
  }
  Id boolean() { return to_.choice({to_.bytes("True"), to_.bytes("False")}); }
  Id none() { return to_.bytes("None"); }
  Id any() {
    if (any_ >= 0) return any_;
    const grammar::RuleId rule = to_.declare("literal");
    any_ = to_.rule(rule);
    to_.define(rule, to_.choice({string(), number(), boolean(), none(), list(), dictionary()}));
    return any_;
  }
  Id list() { return enclosed("[", any(), "]"); }
  Id dictionary() { return enclosed("{", to_.sequence({string(), to_.bytes(": "), any()}), "}"); }

  // What the schema says at its top.
  Id of(const Json& schema) {
    if (!schema.is_object()) return any();
    if (const auto values = schema.find("enum"); values != schema.end() && values->is_array() && !values->empty()) {
      std::vector<Id> texts;
      for (const Json& value : *values) texts.push_back(to_.bytes(spelled(value)));
      return to_.choice(std::move(texts));
    }
    const Json type = schema.value("type", Json());
    if (!type.is_array()) return of_type(type);
    std::vector<Id> types;
    for (const Json& one : type) types.push_back(of_type(one));
    return to_.choice(std::move(types));
  }

 private:
  Id of_type(const Json& type) {
    if (type == "string") return string();
    if (type == "integer") return integer();
    if (type == "number") return number();
    if (type == "boolean") return boolean();
    if (type == "null") return none();
    if (type == "array") return list();
    if (type == "object") return dictionary();
    return any();
  }
  static std::string spelled(const Json& value) {
    if (value == true) return "True";
    if (value == false) return "False";
    if (value.is_null()) return "None";
    return dumped(value);
  }
  Id enclosed(std::string_view open, Id one, std::string_view close) {
    const Id more = to_.repeat(to_.sequence({to_.bytes(", "), one}), 0, grammar::kUnlimited);
    return to_.sequence({to_.bytes(open), to_.optional(to_.sequence({one, more})), to_.bytes(close)});
  }
  Id digit(char32_t first) {
    unicode::CodePointSet set;
    set.add(first, U'9');
    return to_.character(std::move(set));
  }
  template <typename Make>
  Id named(Id& kept, const char* name, Make make) {
    return kept >= 0 ? kept : kept = to_.named(name, make());
  }
  grammar::Grammar& to_;
  Id string_ = -1, integer_ = -1, number_ = -1, any_ = -1;
};

}  // namespace

Result<Id> pythonic_call(CallGrammar& to) {
  Literals literals(to.grammar());
  return to.any([&](const Tool& tool) -> Result<Id> {
    const auto spell = [&](const CallGrammar::Property& property) -> Result<Id> {
      return to.sequence({to.bytes(property.name + "="), literals.of(property.schema)});
    };
    auto arguments = to.properties(tool, to.bytes(", "), spell, to.bytes(""));
    if (!arguments) return arguments;
    return to.sequence({to.bytes(tool.name + "("), *arguments, to.bytes(")")});
  });
}

Result<Id> pythonic_calls(CallGrammar& to) {
  auto call = pythonic_call(to);
  if (!call) return call;
  return to.sequence({to.bytes("["), to.several(*call, to.bytes(", ")), to.bytes("]")});
}

}  // namespace millrace::chat::tools
