#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/safetensors_reader.h"

namespace millrace::draft {

// A directory of trained heads: config.json and safetensors, which alone are no model.
struct HeadFiles {
  checkpoint::Checkpoint checkpoint;  // the tensors; its config is empty
  std::vector<checkpoint::IntegerTensor> integers;
  std::string config_file, config_text;
  nlohmann::json config;

  checkpoint::JsonFields fields() const { return {config_file, config}; }
  bool has(const std::string& tensor) const { return checkpoint.find(tensor) != nullptr; }
  // The first of these names that the files have a tensor of; the first of all if none. With `rest` behind each.
  std::string first_of(std::initializer_list<std::string> names, const std::string& rest = {}) const;
  // Of a whole-numbered tensor [n]; empty if there is none of that name. Throws LoadError: another shape.
  std::vector<std::int64_t> integers_of(const std::string& name, std::int64_t n) const;
};

// Heads are in model.safetensors or its shards, or in one file called `own_name`. Throws LoadError naming file, field
// or tensor.
HeadFiles open_head_files(Env& env, const std::string& directory, const std::string& own_name = {});

}  // namespace millrace::draft
