#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/adapters/adapter_store.h"
#include "runtime/adapter_config.h"

namespace millrace::runtime {

// Memory of a model's adapters, in bytes of all its ranks.
struct AdapterMemory {
  std::uint64_t loaded = 0;    // in memory now
  std::uint64_t reserved = 0;  // the most that they will take, those of now included
  std::string limit;           // the flag that says so: "lora-memory", "max-loras"; empty: no limit is known
};

// --lora-memory, or --max-loras times the largest of `adapters`, in memory now, and of PEFT's files in --lora-dir;
// without either of them what is loaded. Sizes and limits are of one of `ranks`.
AdapterMemory adapter_memory(const AdapterConfig& config, const std::vector<model::AdapterCard>& adapters,
                             int ranks = 1);
// kResourceExhausted naming the limit, where what adapters may still take does not fit into `available` bytes of memory
// beside `others`, which are not in memory yet either. 0 of `available`: unknown.
Result<void> check_adapter_memory(const AdapterMemory& memory, std::uint64_t others, std::uint64_t available);
// AdapterMemory::reserved of adapters that are not loaded yet, with the sizes of their files for those in memory. 0
// for files that are not there. An upper bound for several ranks, each of which has whole As alone.
std::uint64_t expected_adapter_bytes(const AdapterConfig& config, int ranks = 1);

}  // namespace millrace::runtime
