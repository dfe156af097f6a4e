#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "model/norm_spec.h"

namespace millrace::model {

// One matrix in place of an attention or an MLP: f = activation(W norm(x)), with W [E, E] (Puzzle, arXiv:2411.19146).
struct LinearParams {
  static constexpr std::string_view kKind = "linear";

  std::int64_t size = 0;  // E
  std::optional<backend::Activation> activation;
  NormSpec norm;
  // Patterns of the names, as in WeightNames, and what the weight is called in GGUF, whatever the file.
  std::string norm_name, weight_name, role;
};

}  // namespace millrace::model
