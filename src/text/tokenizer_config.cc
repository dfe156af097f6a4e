#include "text/tokenizer_config.h"

namespace millrace::text {
namespace {

// "<s>" or {"content": "<s>", ...}.
std::optional<std::string> token_name(const JsonNode& node) {
  if (node.is_null()) return std::nullopt;
  return std::string(node.is_object() ? node["content"].string() : node.string());
}

std::optional<bool> flag(const JsonNode& node) {
  if (node.is_null()) return std::nullopt;
  return node.boolean_or(false);
}

}  // namespace

TokenizerConfig read_tokenizer_config(const JsonNode& file) {
  return {.bos_token = token_name(file["bos_token"]),
          .eos_token = token_name(file["eos_token"]),
          .unk_token = token_name(file["unk_token"]),
          .pad_token = token_name(file["pad_token"]),
          .add_bos_token = flag(file["add_bos_token"]),
          .add_eos_token = flag(file["add_eos_token"])};
}

}  // namespace millrace::text
