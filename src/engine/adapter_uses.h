#pragma once

#include <vector>

#include "engine/request.h"
#include "model/adapters/lora_set.h"

namespace millrace::engine {

// All adapters of the set by their names in order, each with the scale 1.
inline std::vector<AdapterUse> uses_of(const model::LoraSet& set) {
  std::vector<AdapterUse> uses;
  for (const model::LoraSet::Entry& entry : set.list()) {
    uses.push_back({.key = entry.adapter->key(), .adapter = entry.adapter});
  }
  return uses;
}

}  // namespace millrace::engine
