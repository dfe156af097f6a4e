#pragma once

#include "grammar/language.h"

namespace millrace::grammar {

struct JsonSchemaOptions {
  GrammarSource::WhiteSpace white_space = GrammarSource::WhiteSpace::kFlexible;
  bool ignore_unsupported = false;  // leave unsupported keywords out; if false they are an error
};

}  // namespace millrace::grammar
