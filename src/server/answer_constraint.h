#pragma once

#include <string>

#include "grammar/language.h"

namespace millrace::server {

// What an answer's text must be, and which field of the request says so.
struct AnswerConstraint {
  std::string field;
  grammar::GrammarSource source;
};

}  // namespace millrace::server
