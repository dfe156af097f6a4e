#pragma once

#include <string>

#include "grammar/language.h"

namespace millrace::server {

// A grammar that the text of an answer must fit, and the field of the request that asks for it, as errors name it.
struct AnswerConstraint {
  std::string field;
  grammar::GrammarSource source;
};

}  // namespace millrace::server
