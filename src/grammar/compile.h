#pragma once

#include <memory>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/work_limits.h"
#include "text/tokenizer.h"

namespace millrace::grammar {

class CompiledGrammar;  // compiled_grammar.h
class Vocabulary;       // a tokenizer's tokens as bytes: vocabulary.h

// Compiles the grammar for the vocabulary and computes its first mask. kInvalidArgument if no text fits, or a rule
// never ends; else the meter's errors.
Result<std::shared_ptr<CompiledGrammar>> compile(const Grammar& grammar, std::shared_ptr<Vocabulary> vocabulary,
                                                 WorkMeter& meter);
std::shared_ptr<Vocabulary> make_vocabulary(std::shared_ptr<const text::Tokenizer> tokenizer);

}  // namespace millrace::grammar
