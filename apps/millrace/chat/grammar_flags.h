#pragma once

#include <memory>
#include <string>

#include "grammar/matcher.h"
#include "text/tokenizer.h"

namespace CLI {
class App;
}

namespace millrace::app {

// What an answer must look like; names as llama-cli has them. At most one is given.
struct GrammarFlags {
  std::string json_schema, json_schema_file, grammar, grammar_file, regex;
  bool json_object = false;

  void declare(CLI::App& app);
  // Null where nothing is asked for. Throws LoadError naming the flag.
  std::shared_ptr<grammar::CompiledGrammar> compile(std::shared_ptr<const text::Tokenizer> tokenizer) const;
};

}  // namespace millrace::app
