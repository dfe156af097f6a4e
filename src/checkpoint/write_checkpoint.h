#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/worker_team.h"
#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// What a copy says otherwise than its original.
struct CopyChanges {
  nlohmann::json config = nlohmann::json::object();  // fields of config.json, also within its text_config; null: none
  std::set<std::string> left_out;                    // names of other files that the copy is without
  std::map<std::string, std::string> files;          // by name: those that it has from elsewhere
  std::vector<GgufEntry> metadata;                   // in GGUF, in place of entries of these keys or behind the others
};

// Writes a copy of a checkpoint, with its tensors as Checkpoint::read() gives them: a .gguf file for GGUF; else a new
// directory with model.safetensors and the other files of the original, such as those of the tokenizer. It appears at
// `path` when it is complete. Reads a few megabytes of a tensor at a time, on all of the team. `progress` gets the
// bytes of tensors written so far; it may be empty. kInvalidArgument naming `out` if there is something at `path`;
// kUnsupported naming a tensor that the container does not hold, as safetensors of integers.
Result<void> write_checkpoint(const Checkpoint& checkpoint, const std::string& path, const CopyChanges& changes,
                              WorkerTeam& team, const std::function<void(std::uint64_t bytes)>& progress);

}  // namespace millrace::checkpoint
