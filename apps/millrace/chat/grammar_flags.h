#pragma once

#include <memory>
#include <optional>
#include <string>

#include "grammar/language.h"
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
  // The grammar that a flag asks for, and the flag's name.
  struct Asked {
    const char* flag;
    grammar::GrammarSource source;
  };
  // Nothing if no flag was given. Throws LoadError naming the file if it cannot be read or has more than 1 MiB.
  std::optional<Asked> asked() const;
  // The grammar, compiled for the tokenizer; null if no flag was given. Throws LoadError naming the flag, and as
  // asked() does.
  std::shared_ptr<grammar::CompiledGrammar> compile(std::shared_ptr<const text::Tokenizer> tokenizer) const;
};

}  // namespace millrace::app
