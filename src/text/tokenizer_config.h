#pragma once

#include <optional>
#include <string>

#include "text/json_node.h"

namespace millrace::text {

// What this engine takes from tokenizer_config.json. Unset = absent or null. Not add_bos_token and add_eos_token:
// beside a tokenizer.json, whose post-processor decides, Transformers (5.x) ignores them too.
struct TokenizerConfig {
  std::optional<std::string> bos_token, eos_token, unk_token, pad_token;
};

TokenizerConfig read_tokenizer_config(const JsonNode& file);

}  // namespace millrace::text
