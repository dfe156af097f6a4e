#include "text/tokenizer_config.h"

namespace millrace::text {
namespace {

// "<s>" or {"content": "<s>", ...}.
std::optional<std::string> token_name(const JsonNode& node) {
  if (node.is_null()) return std::nullopt;
  return std::string(node.is_object() ? node["content"].string() : node.string());
}

}  // namespace

TokenizerConfig read_tokenizer_config(const JsonNode& file) {
  return {.bos_token = token_name(file["bos_token"]),
          .eos_token = token_name(file["eos_token"]),
          .unk_token = token_name(file["unk_token"]),
          .pad_token = token_name(file["pad_token"])};
}

}  // namespace millrace::text
