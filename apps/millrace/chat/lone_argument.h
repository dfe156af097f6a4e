#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace millrace::app {

// `millrace run X` with nothing beside X: X names a model, unless it can only be a prompt.

// White space in it, and no file or directory of that name: names of models on the hub have none. Asks the file system.
bool is_prompt(const std::string& argument);

// `error`, met when `argument` was taken for a model's name. Where that may be a misunderstanding, the message goes on
// with the other reading and the command for each; where `argument` is spelled as a path or is there, it does not.
Error with_other_reading(Error error, const std::string& argument);

}  // namespace millrace::app
