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

// A directory of trained heads: config.json and weights that are no model by themselves.
struct SpeculatorFiles {
  checkpoint::Checkpoint checkpoint;  // the tensors; its config is empty
  std::vector<checkpoint::IntegerTensor> integers;
  std::string config_file, config_text;
  nlohmann::json config;

  checkpoint::JsonFields fields() const { return {config_file, config}; }
  bool has(const std::string& tensor) const { return checkpoint.find(tensor) != nullptr; }
  // The first of these names, with `rest` appended, that the files have a tensor of; the first name if there is none.
  std::string first_of(std::initializer_list<std::string> names, const std::string& rest = {}) const;
  // Bytes that all linear weights take on the place's backend (DraftMemory::weights). Reads no weights.
  std::size_t packed_bytes(const DraftPlace& place) const;
  // The values of an integer tensor [n]; empty if there is none of that name. Throws LoadError for another shape.
  std::vector<std::int64_t> integers_of(const std::string& name, std::int64_t n) const;
};

// Opens the files of heads: weights as checkpoint::open_weights finds them, or one file whose stem is `own_stem`.
// Throws LoadError naming file, field or tensor.
SpeculatorFiles open_head_files(Env& env, const std::string& directory, std::string_view own_stem = {});

// Bytes of the weights of heads in files (DrafterKind::weight_bytes); reads headers only. 0 if no directory is given,
// which the drafter's make() reports as an error.
Result<std::size_t> head_weight_bytes(const DrafterOptions& options, std::string_view own_stem = {});

}  // namespace millrace::draft
