#pragma once

#include <optional>
#include <string>

#include "text/json_node.h"

namespace millrace::text {

// What this engine takes from tokenizer_config.json. Unset = absent or null.
struct TokenizerConfig {
  std::optional<std::string> bos_token, eos_token, unk_token, pad_token;
  std::optional<bool> add_bos_token, add_eos_token;
};

TokenizerConfig read_tokenizer_config(const JsonNode& file);

}  // namespace millrace::text
