#pragma once

#include <nlohmann/json_fwd.hpp>

#include "text/jinja/runtime.h"

namespace millrace::text::jinja {

// Data from outside as a value: every string untrusted, invalid UTF-8 replaced, nesting within the limit.
Value from_json(Runtime& runtime, const nlohmann::ordered_json& json);

}  // namespace millrace::text::jinja
