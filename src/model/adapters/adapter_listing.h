#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/env.h"

namespace millrace::model {

// An adapter in a directory, by what its files say of it: nothing is checked against a base.
struct ListedAdapter {
  std::string name, path;
  std::string kind;          // "LoRA", "rsLoRA", "DoRA", or PEFT's name of another type
  std::int64_t rank = 0;     // the greatest
  std::int64_t modules = 0;  // that have an A
  std::uint64_t bytes = 0;   // of its weights' file
  std::string base;          // base_model_name_or_path; may be empty
  std::string problem;       // why it cannot be loaded, as far as its files alone say; empty: nothing
};

// The adapters in the directory, one level deep, by name; itself, if it is one. Reads headers, not weights. Throws
// LoadError (kNotFound) if there is no such directory.
std::vector<ListedAdapter> list_adapters(Env& env, const std::string& directory);

}  // namespace millrace::model
