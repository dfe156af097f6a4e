#pragma once

#include <string>

#include "model/adapters/merged_checkpoint.h"

namespace millrace::lora {

// ADAPTER or ADAPTER=SCALE. A path may have a '=' itself: what follows the last one counts if it is a number. Throws
// LoadError (kInvalidArgument) for a scale that is not finite.
model::ScaledAdapter parse_scaled_adapter(const std::string& text);

}  // namespace millrace::lora
