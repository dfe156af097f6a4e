#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace millrace::model {

// What a checkpoint's files say of who quantized its weights, which nothing here checks. Empty where they say nothing.

// The program and its version, or the person: "gptqmodel 7.7.0".
std::string weight_maker(const checkpoint::Checkpoint& checkpoint);
// What a GGUF file says of its importance matrix: "importance matrix of 125 chunks of wiki.txt".
std::string weight_calibration(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
