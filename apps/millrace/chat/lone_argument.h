#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace millrace::app {

// For `millrace run X` with the only argument X: X names a model, unless it can only be a prompt.

// Whether `argument` contains white space, which names on the hub do not, and is no existing file or directory.
bool is_prompt(const std::string& argument);

// `error` came when `argument` was used as a model's name. If it may have been meant as a prompt, adds the command for
// each meaning to the message; not if `argument` looks like a path or exists.
Error with_other_reading(Error error, const std::string& argument);

}  // namespace millrace::app
