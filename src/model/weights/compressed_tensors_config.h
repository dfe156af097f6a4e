#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/json_fields.h"
#include "model/weights/module_pattern.h"

namespace millrace::model {

// How the weights of a group of modules are quantized: config_groups.*.weights of compressed-tensors' configuration.
struct CompressedScheme {
  std::string group;  // "group_0"
  int bits = 8;
  bool floating = false, symmetric = true;
  std::string strategy;         // tensor, channel, group, tensor_group, block
  std::int64_t group_size = 0;  // columns; 0: none
  std::int64_t block_rows = 0, block_cols = 0;
  bool ordered = false;           // actorder that needs weight_g_idx
  bool int8_activations = false;  // W8A8
};

// The configuration of a checkpoint of compressed-tensors.
class CompressedConfig {
 public:
  // Throws LoadError (kUnsupported) naming a field whose value cannot be read.
  explicit CompressedConfig(const checkpoint::JsonFields& quantization);
  // The scheme of a module whose weights are quantized: of the group that has its name; else of the first expression,
  // by text, that matches; else of the group for its class. Throws LoadError if there is none.
  const CompressedScheme& scheme_of(const std::string& module) const;

 private:
  struct Group {
    CompressedScheme scheme;
    bool all_linears = false;  // names a class
  };
  struct Expression {
    ModulePattern pattern;
    std::size_t group;
  };
  void add_target(const std::string& target, const checkpoint::JsonFields& fields);  // of the last group

  checkpoint::JsonFields fields_;
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> names_;       // of modules; the group of each
  std::map<std::string, Expression> expressions_;  // by text, in order
};

}  // namespace millrace::model
