#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::checkpoint {

// Sampling defaults that the model's authors ship (generation_config.json); unset = the engine's own.
struct GenerationDefaults {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::optional<bool> do_sample;
  std::vector<std::int32_t> eos_token_ids;

  // The default of a sampling field: "temperature" (0 where do_sample is false), "top_p", "top_k", "min_p",
  // "repetition_penalty". Nothing where it is unset, or another name.
  std::optional<double> value_of(std::string_view field) const;
};

// eos_token_id (one or a list) and the sampling fields, as generation_config.json and config.json both may hold them.
// `file` names it in messages. Throws LoadError.
GenerationDefaults parse_generation_config(const std::string& file, std::string_view json);

}  // namespace millrace::checkpoint
