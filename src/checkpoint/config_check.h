#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "checkpoint/model_config.h"

namespace millrace::checkpoint {

inline constexpr std::int64_t kMaxCount = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMaxLayers = 4096;  // bounds what is allocated per layer

// Throws a LoadError naming `file` and `field` unless 1 <= value <= limit.
void check_count(const std::string& file, std::string_view field, std::int64_t value, std::int64_t limit = kMaxCount);

// The range checks that model_config.h promises, whatever the file was. `file` names it in messages. Throws LoadError.
void check_model_config(const std::string& file, const ModelConfig& config);

}  // namespace millrace::checkpoint
