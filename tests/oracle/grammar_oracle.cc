// Answers questions about grammars: one JSON object a line on stdin, one a line on stdout. Driven by comparison.py.
//   {"op": "read", "language": name, "source": text, "texts": [...]}  -> {"fits": [bool...]}: of the compiled grammar
//   {"op": "regex", "pattern": text, "search": bool, "ignore_case": bool, "texts": [...]}
//                                       -> {"automaton": [bool...], "expression": [bool...]}: by regex_automaton() and
//                                          by add_regex(), compiled
// Every failure is {"error": message, "code": name}.
#include <iostream>
#include <nlohmann/json.hpp>

#include "grammar/language.h"
#include "grammar/matcher.h"
#include "grammar/regex/character_classes.h"
#include "grammar/regex/regex.h"
#include "text/testing/vocabularies.h"

namespace {

using namespace millrace::grammar;
using Json = nlohmann::json;

Json rejection(const millrace::Error& error) {
  return {{"error", error.message}, {"code", millrace::to_string(error.code)}};
}

// Of each text whether it fits, or an error. A grammar that no text fits is one that compile() refuses.
millrace::Result<std::vector<bool>> fitting(const Grammar& grammar, const Json& texts, WorkMeter& meter) {
  static const auto vocabulary = make_vocabulary(
      millrace::text::load_gguf_tokenizer(millrace::text::small_byte_level_vocabulary("gpt2")).or_throw());
  const auto compiled = compile(grammar, vocabulary, meter);
  std::vector<bool> out;
  if (!compiled && compiled.error().code != millrace::ErrorCode::kInvalidArgument) return compiled.error();
  for (const std::string text : texts) {
    if (!compiled) {
      out.push_back(false);
      continue;
    }
    Matcher matcher(*compiled);
    out.push_back(matcher.accept_bytes(text) && matcher.may_end());
  }
  return out;
}

Json read(const Json& request) {
  WorkMeter meter;
  const auto grammar = read_grammar({.language = request.at("language"), .text = request.at("source")}, meter);
  if (!grammar) return rejection(grammar.error());
  const auto fits = fitting(*grammar, request.at("texts"), meter);
  if (!fits) return rejection(fits.error());
  return {{"fits", *fits}};
}

Json regex(const Json& request) {
  const std::string pattern = request.at("pattern");
  const RegexMatch match = request.at("search") ? RegexMatch::kSearch : RegexMatch::kWhole;
  const RegexFlags flags{.ignore_case = request.value("ignore_case", false)};
  Grammar grammar;
  WorkMeter meter, other;
  const auto automaton = regex_automaton(pattern, match, meter, flags);
  if (!automaton) return rejection(automaton.error());
  const auto root = add_regex(grammar, pattern, match, other, flags);
  if (!root) return rejection(root.error());
  grammar.set_root(*root);
  const auto fits = fitting(grammar, request.at("texts"), other);
  if (!fits) return rejection(fits.error());
  std::vector<bool> matched;
  for (const std::string text : request.at("texts")) matched.push_back(automaton->matches(characters_of(text)));
  return {{"automaton", matched}, {"expression", *fits}};
}

Json answer(const Json& request) {
  const std::string op = request.at("op");
  if (op == "read") return read(request);
  if (op == "regex") return regex(request);
  return {{"error", "unknown op " + op}};
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      reply = answer(Json::parse(line));
    } catch (const std::exception& e) {
      reply = {{"error", e.what()}};
    }
    std::cout << reply.dump(-1, ' ', true, Json::error_handler_t::replace) << std::endl;
  }
}
