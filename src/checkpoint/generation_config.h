#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::checkpoint {

// Sampling defaults published with the model (generation_config.json); unset = the engine's own defaults.
struct GenerationDefaults {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::optional<bool> do_sample;
  std::vector<std::int32_t> eos_token_ids;

  // The default of a sampling field: "temperature" (0 if do_sample is false), "top_p", "top_k", "min_p" or
  // "repetition_penalty". Nothing if it is unset, or for another name.
  std::optional<double> value_of(std::string_view field) const;
};

// Reads eos_token_id (one or a list) and the sampling fields, which generation_config.json and config.json may both
// have. `file` names the file in messages. Throws LoadError.
GenerationDefaults parse_generation_config(const std::string& file, std::string_view json);

}  // namespace millrace::checkpoint
