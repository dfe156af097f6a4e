#pragma once

#include <string>

#include "backend/backend.h"

namespace millrace::model {

// A norm as plain data, without its weights.
struct NormSpec {
  backend::NormKind kind = backend::NormKind::kRms;
  float eps = 1e-5f;
  float offset = 0.0f;  // added to the weights as stored: 1 for Gemma's in safetensors
  bool weight = true;   // false: all weights are 1, and the file has none; the norm has a name all the same
  bool bias = false;    // the file must have one
  bool operator==(const NormSpec&) const = default;
};

// Text of everything that changes the bits of a row.
std::string key_of(const NormSpec& norm);

}  // namespace millrace::model
