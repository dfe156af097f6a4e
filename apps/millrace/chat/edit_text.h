#pragma once

#include <string>

#include "base/result.h"

namespace millrace::app {

// Opens $VISUAL, else $EDITOR, else vi on a temporary file with this text. Returns the file's text without newlines at
// its end. kUnavailable if the editor does not start or fails. The caller leaves the terminal to the editor.
Result<std::string> edit_text(const std::string& text);

}  // namespace millrace::app
