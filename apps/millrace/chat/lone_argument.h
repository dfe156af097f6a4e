#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace millrace::app {

// The only positional argument of `millrace run` names a model unless it can only be a prompt.

// Whether the argument can only be a prompt: it has white space, which names on the hub never have, and no file or
// directory has that name. Reads the file system.
bool is_prompt(const std::string& argument);

// `error` came from taking `argument` for a model's name. Appends to its message that `argument` may be meant as a
// prompt, with the commands for both meanings. Returns `error` unchanged if `argument` is a path, exists, or is
// "default", and if the code is kCancelled, kUnsupported, kBadFile or kResourceExhausted.
Error with_other_reading(Error error, const std::string& argument);

}  // namespace millrace::app
