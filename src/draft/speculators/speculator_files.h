#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/integer_tensor.h"
#include "checkpoint/json_fields.h"
#include "draft/drafter.h"

namespace millrace::draft {

// A directory of trained heads: config.json and weights, which alone are no model.
struct SpeculatorFiles {
  checkpoint::Checkpoint checkpoint;  // the tensors; its config is empty
  std::vector<checkpoint::IntegerTensor> integers;
  std::string config_file, config_text;
  nlohmann::json config;

  checkpoint::JsonFields fields() const { return {config_file, config}; }
  bool has(const std::string& tensor) const { return checkpoint.find(tensor) != nullptr; }
  // The first of these names that the files have a tensor of; the first of all if none. With `rest` behind each.
  std::string first_of(std::initializer_list<std::string> names, const std::string& rest = {}) const;
  // What all linear weights take on the place's backend: DraftMemory::weights of heads that are made of them. Reads
  // none.
  std::size_t packed_bytes(const DraftPlace& place) const;
  // The values of a whole-numbered tensor [n]; empty if there is none of that name. Throws LoadError: another shape.
  std::vector<std::int64_t> integers_of(const std::string& name, std::int64_t n) const;
};

// Heads are where a model's weights would be, or in one file of a name of their own: checkpoint::open_weights. Throws
// LoadError naming file, field or tensor.
SpeculatorFiles open_head_files(Env& env, const std::string& directory, std::string_view own_stem = {});

// DrafterKind::weight_bytes of heads in files: reads headers only. 0 where no directory is given, which make() refuses.
Result<std::size_t> head_weight_bytes(const DrafterOptions& options, std::string_view own_stem = {});

}  // namespace millrace::draft
