#pragma once

#include <memory>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/work_limits.h"
#include "text/tokenizer.h"

namespace millrace::grammar {

class CompiledGrammar;  // compiled_grammar.h
class Vocabulary;       // a tokenizer's tokens as bytes: vocabulary.h

// The grammar for that vocabulary, its first mask made. kInvalidArgument where no text fits it or a rule is without
// end; else as the meter says.
Result<std::shared_ptr<CompiledGrammar>> compile(const Grammar& grammar, std::shared_ptr<Vocabulary> vocabulary,
                                                 WorkMeter& meter);
std::shared_ptr<Vocabulary> make_vocabulary(std::shared_ptr<const text::Tokenizer> tokenizer);

}  // namespace millrace::grammar
