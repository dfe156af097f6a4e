#pragma once

#include <memory>
#include <string>

#include "grammar/matcher.h"
#include "text/tokenizer.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Flags of the grammar that answers must fit, named as in llama-cli. The parser rejects more than one of them.
struct GrammarFlags {
  std::string json_schema, json_schema_file, grammar, grammar_file, regex;
  bool json_object = false;

  void declare(CLI::App& app);
  // The grammar, compiled for the tokenizer; null if no flag was given. Throws LoadError naming the flag, or the file
  // if it cannot be read or has more than 1 MiB.
  std::shared_ptr<grammar::CompiledGrammar> compile(std::shared_ptr<const text::Tokenizer> tokenizer) const;
};

}  // namespace millrace::app
