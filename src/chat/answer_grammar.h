#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "chat/tools/tool_use.h"
#include "grammar/grammar_cache.h"
#include "grammar/language.h"

namespace millrace::chat {

// What an answer must fit: a constraint on its text, calls of tools as a model spells them, or one of the two; after
// the reasoning where the model reasons. Plain data, which may travel: what it is compiled to stays where it was made.
struct AnswerGrammar {
  std::optional<grammar::GrammarSource> constraint;
  tools::ToolUse tool_use;       // Choice::kNone: no calls
  std::string tool_format;       // a name of all_tool_formats(); "": answers hold no calls
  std::string reasoning_format;  // a name of all_reasoning_formats(); "": none comes before
  bool reasoning_begun = false;  // the prompt ends within it

  // Equal for two that fit the same answers.
  std::string key() const;
};

// kInvalidArgument and kUnsupported for what is wrong with it, kResourceExhausted for what takes more than the meter
// has.
Result<grammar::Grammar> build_grammar(const AnswerGrammar& source, grammar::WorkMeter& meter);

// Compiled, by the cache of the model that answers; on the calling thread. kCancelled once `cancelled` (may be null) is
// true; else the errors of build_grammar().
Result<std::shared_ptr<grammar::CompiledGrammar>> compiled_grammar(grammar::GrammarCache& cache,
                                                                   const AnswerGrammar& source, std::uint32_t tenant,
                                                                   const std::atomic<bool>* cancelled = nullptr);

}  // namespace millrace::chat
