#pragma once

#include <memory>
#include <string>

#include "grammar/matcher.h"
#include "text/tokenizer.h"

namespace CLI {
class App;
}

namespace millrace::app {

// The flags of constrained answers, with llama-cli's names. At most one of them is given.
struct GrammarFlags {
  std::string json_schema, json_schema_file, grammar, grammar_file, regex;
  bool json_object = false;

  void declare(CLI::App& app);
  // Null if no flag is given. Throws LoadError naming the flag.
  std::shared_ptr<grammar::CompiledGrammar> compile(std::shared_ptr<const text::Tokenizer> tokenizer) const;
};

}  // namespace millrace::app
