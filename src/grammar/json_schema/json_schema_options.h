#pragma once

#include "grammar/language.h"

namespace millrace::grammar {

struct JsonSchemaOptions {
  GrammarSource::WhiteSpace white_space = GrammarSource::WhiteSpace::kFlexible;
  bool ignore_unsupported = false;  // else an error
};

}  // namespace millrace::grammar
