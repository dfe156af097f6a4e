#pragma once

#include <string>

#include "grammar/language.h"

namespace millrace::server {

// The grammar that a request asks for, and the request field that it comes from, for errors.
struct AnswerConstraint {
  std::string field;
  grammar::GrammarSource source;
};

}  // namespace millrace::server
