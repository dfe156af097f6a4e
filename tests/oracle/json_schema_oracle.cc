// Answers questions about JSON Schemas: one JSON object a line on stdin, one a line on stdout.
//   {"schema": text, "texts": [text...], "white_space": "flexible" | "compact" | "spaced", "ignore_unsupported": bool,
//    "samples": how many random texts that fit are wanted, "seed": number}
//   -> {"accepted": [bool...], "reference": [bool...], "ignored": [pointer...], "samples": [text...]}
//   or {"error": message, "code": code}
// "accepted" is what the compiled grammar says; "reference" what the grammar means, by brute force.
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "grammar/compiled_grammar.h"
#include "grammar/language.h"
#include "grammar/matcher.h"
#include "grammar/testing/reference_matcher.h"
#include "grammar/vocabulary.h"
#include "random_text.h"
#include "text/tokenizer.h"

namespace {

using Json = nlohmann::json;
using millrace::Result;
using namespace millrace::grammar;

std::shared_ptr<Vocabulary> bytes_alone() {
  millrace::text::GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = {"<unk>", "<s>", "</s>"};
  vocabulary.token_types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    vocabulary.token_types.push_back(6);
  }
  vocabulary.scores.resize(vocabulary.tokens.size());
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  return make_vocabulary(millrace::text::load_gguf_tokenizer(std::move(vocabulary)).or_throw());
}

Json rejected(const millrace::Error& error) {
  return {{"error", error.message}, {"code", std::string(millrace::to_string(error.code))}};
}

GrammarSource::WhiteSpace white_space(const std::string& name) {
  if (name == "compact") return GrammarSource::WhiteSpace::kCompact;
  return name == "spaced" ? GrammarSource::WhiteSpace::kSpaced : GrammarSource::WhiteSpace::kFlexible;
}

Json answer(const Json& question, const std::shared_ptr<Vocabulary>& vocabulary) {
  const GrammarSource source{.language = "json_schema",
                             .text = question.at("schema"),
                             .white_space = white_space(question.value("white_space", "")),
                             .ignore_unsupported = question.value("ignore_unsupported", false)};
  WorkMeter meter;
  const auto grammar = read_grammar(source, meter);
  if (!grammar) return rejected(grammar.error());
  const auto compiled = compile(*grammar, vocabulary, meter);
  if (!compiled) return rejected(compiled.error());
  Json accepted = Json::array(), reference = Json::array(), samples = Json::array();
  ReferenceMatcher meant(*grammar);
  for (const std::string text : question.value("texts", Json::array())) {
    Matcher matcher(*compiled);
    accepted.push_back(matcher.accept_bytes(text) && matcher.may_end());
    if (question.value("reference", true)) reference.push_back(meant.matches(text));
  }
  RandomText random(*grammar, question.value("seed", 0U));
  for (int i = 0; i < question.value("samples", 0); ++i) samples.push_back(random.text());
  return {{"accepted", accepted}, {"reference", reference}, {"ignored", grammar->ignored()}, {"samples", samples}};
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  const auto vocabulary = bytes_alone();
  for (std::string line; std::getline(std::cin, line);) {
    Json made;
    try {
      made = answer(Json::parse(line), vocabulary);
    } catch (const std::exception& e) {
      made = {{"error", e.what()}, {"code", "exception"}};
    }
    std::cout << made.dump(-1, ' ', true, Json::error_handler_t::replace) << std::endl;
  }
}
